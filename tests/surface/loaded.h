// Functions by name, as a program finds those of a library that it was not linked with.
#ifndef ACRE_TESTS_SURFACE_LOADED_H
#define ACRE_TESTS_SURFACE_LOADED_H

#include "check.h"

#include <dlfcn.h>

static inline void find(void *slot, const char *name) {
    void *symbol = dlsym(RTLD_DEFAULT, name);
    if (symbol == NULL) check_fail(__FILE__, __LINE__, name);
    memcpy(slot, &symbol, sizeof symbol);
}

#endif
