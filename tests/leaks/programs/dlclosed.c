// What the variables of a loaded library lead to is no leak; of one that is closed it is, and its code is gone.
// leaks normal: 1 ?
// library: plugin
#include "support.h"

#include <dlfcn.h>

static NOINLINE void keep(const char *path, const char *function, int close) {
    void *library = dlopen(path, RTLD_NOW);
    if (library == NULL) exit(1);
    ((void (*)(void))dlsym(library, function))();
    if (close) dlclose(library);
}

int main(int count, char **arguments) {
    if (count != 3) return 1;
    LOSE(keep(arguments[2], "plugin_keep", 0));
    LOSE(keep(arguments[2], "plugin_keep_own", 0));
    LOSE(keep(arguments[1], "plugin_keep", 1));
    return 0;
}
