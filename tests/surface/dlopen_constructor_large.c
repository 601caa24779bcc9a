// A library whose constructor waits for a thread that allocates a block as large as large_alloc_report is by default: the
// report must not need the loader, whose lock is held by the one that waits.
// acre-test: not-static libs=dl,pthread
#include "plugin.h"

#include <dlfcn.h>

static const char kSource[] =
    "#include <pthread.h>\n"
    "#include <stdlib.h>\n"
    "static void *allocate(void *bytes) { return malloc(*(size_t *)bytes); }\n"
    "static void *block;\n"
    "__attribute__((constructor)) static void start(void) {\n"
    "    size_t bytes = (size_t)1200 << 20;\n"
    "    pthread_t thread;\n"
    "    if (pthread_create(&thread, 0, allocate, &bytes) != 0 || pthread_join(thread, &block) != 0) abort();\n"
    "    if (block == 0) abort();\n"
    "}\n"
    "__attribute__((destructor)) static void stop(void) { free(block); }\n";

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    alarm(60);
    void *handle = dlopen(plugin.object, RTLD_NOW);
    plugin_remove(&plugin);
    CHECK(handle != NULL);
    CHECK_EQ(dlclose(handle), 0);
    return 0;
}
