// acre-test: not-static
// acre-test: libs=dl,pthread
// A shared object, opened again and again, that allocates in its constructor, has thread-local
// memory, and frees in its destructor.
#include "plugin.h"

#include <dlfcn.h>
#include <pthread.h>

static const char kSource[] =
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "static void *blocks[100];\n"
    "static __thread char *mine;\n"
    "__attribute__((constructor)) static void start(void) {\n"
    "    for (size_t i = 0; i < 100; i++) {\n"
    "        blocks[i] = malloc(i * 100 + 1);\n"
    "        if (!blocks[i]) abort();\n"
    "        memset(blocks[i], (int)i, i * 100 + 1);\n"
    "    }\n"
    "}\n"
    "__attribute__((destructor)) static void stop(void) {\n"
    "    for (size_t i = 0; i < 100; i++) {\n"
    "        if (*(char *)blocks[i] != (char)i) abort();\n"
    "        free(blocks[i]);\n"
    "    }\n"
    "}\n"
    "char *take(size_t size) {\n"
    "    free(mine);\n"
    "    mine = malloc(100);\n"
    "    memset(mine, 1, 100);\n"
    "    char *block = calloc(1, size);\n"
    "    return block;\n"
    "}\n"
    "void leave(void) { free(mine); mine = 0; }\n";

static char *(*take)(size_t);
static void (*leave)(void);

static void *use(void *unused) {
    for (size_t i = 1; i <= 100; i++) {
        char *block = take(i * 50);
        CHECK(block != NULL);
        CHECK(all_bytes_are(block, i * 50, 0));
        memset(block, 1, i * 50);
        free(block);
    }
    leave();
    return unused;
}

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    for (int round = 0; round < 100; round++) {
        void *handle = dlopen(plugin.object, round % 2 ? RTLD_NOW : RTLD_LAZY | RTLD_GLOBAL);
        if (handle == NULL) plugin_remove(&plugin);
        CHECK(handle != NULL);
        *(void **)&take = dlsym(handle, "take");
        *(void **)&leave = dlsym(handle, "leave");
        CHECK(take != NULL && leave != NULL);
        pthread_t threads[3];
        for (int i = 0; i < 3; i++) CHECK_EQ(pthread_create(&threads[i], NULL, use, NULL), 0);
        use(NULL);
        for (int i = 0; i < 3; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
        CHECK_EQ(dlclose(handle), 0);
    }
    CHECK(dlopen("/no/such/library.so", RTLD_NOW) == NULL);
    CHECK(dlerror() != NULL);
    plugin_remove(&plugin);
    return 0;
}
