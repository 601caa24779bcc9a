// acre-test: not-static
// acre-test: libs=dl
// A library that was opened by dlopen gets a block from the C library, which gets it from acre, and frees it by
// dlsym(RTLD_NEXT, "free"): acre's, though the library's own dependencies have the C library's alone.
#include "plugin.h"

#include <dlfcn.h>

static const char kSource[] =
    "#define _GNU_SOURCE\n"
    "#include <dlfcn.h>\n"
    "#include <stdlib.h>\n"
    "#include <string.h>\n"
    "void *next(const char *name) { void *found = dlsym(RTLD_NEXT, name); return found; }\n"
    "int frees_path(void) {\n"
    "    void (*next_free)(void *) = (void (*)(void *))next(\"free\");\n"
    "    char *path = realpath(\"/\", 0);\n"
    "    int is_root = path != 0 && strcmp(path, \"/\") == 0;\n"
    "    next_free(path);\n"
    "    return is_root;\n"
    "}\n";

int main(void) {
    struct Plugin plugin;
    plugin_build(&plugin, kSource);
    void *handle = dlopen(plugin.object, RTLD_NOW | RTLD_LOCAL);
    plugin_remove(&plugin);
    CHECK(handle != NULL);
    int (*frees_path)(void);
    void *(*next)(const char *);
    *(void **)&frees_path = dlsym(handle, "frees_path");
    *(void **)&next = dlsym(handle, "next");
    CHECK(frees_path != NULL && next != NULL);
    CHECK(frees_path());

    // Each leads where the program's own calls do.
    const char *const names[] = {"malloc", "calloc", "realloc", "aligned_alloc", "memalign", "posix_memalign", "valloc",
                                 "pvalloc", "reallocarray", "free", "malloc_usable_size"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        CHECK_AT(next(names[i]) != NULL, i);
        CHECK_AT(next(names[i]) == dlsym(RTLD_DEFAULT, names[i]), i);
    }
    // Other names, and other ways to ask, are the loader's matter: what the caller stands before, and its errors.
    CHECK(next("strlen") == dlsym(RTLD_DEFAULT, "strlen"));
    CHECK(next("frees_path") == NULL && dlerror() != NULL);
    CHECK(dlsym(handle, "no such name") == NULL && dlerror() != NULL);
    CHECK(dlsym(RTLD_NEXT, "free") == dlsym(RTLD_DEFAULT, "free"));
    CHECK_EQ(dlclose(handle), 0);
    return 0;
}
