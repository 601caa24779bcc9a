// acre-test: not-static
// acre-test: libs=dl
// acre-test: not-hardened
// The malloc that this process calls is acre's, and acre brought no C++ library into a C program.
// The hardened mode loads libgcc at its start, for the stack of an access to a guard.
#include "check.h"

#include <dlfcn.h>

static char maps[1 << 20];

int main(void) {
    int (*owns)(const void *) = NULL;
    *(void **)&owns = dlsym(RTLD_DEFAULT, "acre_owns");
    CHECK(owns != NULL);
    Dl_info of_malloc, of_owns;
    CHECK(dladdr(dlsym(RTLD_DEFAULT, "malloc"), &of_malloc) != 0);
    CHECK(dladdr(*(void **)&owns, &of_owns) != 0);
    CHECK(of_malloc.dli_fbase == of_owns.dli_fbase);

    const char *names[] = {"free", "calloc", "realloc", "reallocarray", "free_sized",
                           "free_aligned_sized", "aligned_alloc", "posix_memalign", "memalign",
                           "valloc", "pvalloc", "cfree", "malloc_usable_size", "malloc_trim",
                           "malloc_stats", "malloc_info", "mallinfo", "mallinfo2", "mallopt",
                           "_Znwm", "_ZdlPv", "_Znam", "_ZdaPv", "_ZnwmSt11align_val_t",
                           "_ZdlPvmSt11align_val_t", "_ZnwmRKSt9nothrow_t"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        Dl_info found;
        void *symbol = dlsym(RTLD_DEFAULT, names[i]);
        if (symbol == NULL) check_fail(__FILE__, __LINE__, names[i]);
        CHECK(dladdr(symbol, &found) != 0);
        if (found.dli_fbase != of_owns.dli_fbase) check_fail(__FILE__, __LINE__, names[i]);
    }
    // libc's own allocations come from acre as well.
    char *copy = strdup("a string that libc copies");
    CHECK(copy != NULL);
    CHECK(owns(copy));
    free(copy);

    CHECK(read_file("/proc/self/maps", maps, sizeof maps) > 0);
    CHECK(strstr(maps, "libstdc++") == NULL);
    CHECK(strstr(maps, "libgcc_s") == NULL);
    return 0;
}
