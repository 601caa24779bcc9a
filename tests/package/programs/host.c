// host PLUGIN: loads the shared object of plugin.c.
#include <dlfcn.h>
#include <stdio.h>

int main(int count, char **words) {
    void *plugin = count > 1 ? dlopen(words[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    int (*works)(void) = plugin ? (int (*)(void))dlsym(plugin, "plugin_works") : NULL;
    if (works == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    return works() ? 0 : 1;
}
