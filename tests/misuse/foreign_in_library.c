// expect: acre: free\(0x[0-9a-f]+\): foreign pointer: .*; freed by /.*/plugin\.so\+0x[0-9a-f]+ \(if the program works without acre
// acre-test: not-static
// acre-test: libs=dl
// A library frees a block that nobody has allocated: the message names it.
#include "misuse.h"
#include "../surface/plugin.h"

#include <dlfcn.h>

static const char kSource[] =
    "#include <stdlib.h>\n"
    "void plugin_free(void *block) { free(block); asm(\"\"); }\n";

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    void *handle = dlopen(plugin.object, RTLD_NOW);
    plugin_remove(&plugin);
    CHECK(handle != NULL);
    void (*free_in_plugin)(void *);
    *(void **)&free_in_plugin = dlsym(handle, "plugin_free");
    CHECK(free_in_plugin != NULL);
    int local;
    free_in_plugin(hide(&local));
    return survived();
}
