// Runs a Python interpreter from a library that it opens, ends it, closes the library, and allocates in between.
// usage: embeds LIBPYTHON
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static void *volatile block;

static void allocate(void) {
    for (int i = 0; i < 1000; ++i) {
        block = malloc(1000);
        free(block);
    }
}

int main(int argc, char **argv) {
    allocate();
    void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL) : NULL;
    if (library == NULL) return 1;
    void (*initialize)(void) = (void (*)(void))dlsym(library, "Py_Initialize");
    int (*run)(const char *, void *) = (int (*)(const char *, void *))dlsym(library, "PyRun_SimpleStringFlags");
    int (*finalize)(void) = (int (*)(void))dlsym(library, "Py_FinalizeEx");
    allocate();
    for (int i = 0; i < 2; ++i) {
        initialize();
        if (run("def embedded():\n    return bytearray(777 * 4096 - 100)\nembedded()\n", NULL) != 0) return 2;
        if (finalize() != 0) return 3;
        allocate();
    }
    dlclose(library);
    allocate();
    puts("done");
    return 0;
}
