// Threads that open and close libraries, others that allocate, and one that does so in dl_iterate_phdr, while each block is a sample of the heap profile: the
// unwinder and the loader have locks of their own, which must not be taken crosswise.
// acre-test: not-static libs=pthread,dl env=ACRE_CONF=prof:true,prof_sample:0
#define _GNU_SOURCE
#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>

static const char *const kLibraries[] = {"libm.so.6",   "libgcc_s.so.1", "libstdc++.so.6",
                                         "libresolv.so.2", "libnone.so.7",  "libanl.so.1"};
enum { LIBRARIES = sizeof kLibraries / sizeof kLibraries[0], THREADS = 4, ROUNDS = 300 };

static atomic_int done;

static void *opening(void *number) {
    uint64_t state = (uint64_t)(uintptr_t)number;
    for (int i = 0; i < ROUNDS; i++) {
        void *library = dlopen(kLibraries[random_below(&state, LIBRARIES)], i % 2 == 0 ? RTLD_NOW : RTLD_LAZY);
        if (library == NULL) {
            CHECK(dlerror() != NULL);
            continue;
        }
        hide(dlsym(library, "cos"));
        CHECK_EQ(dlclose(library), 0);
    }
    atomic_fetch_add(&done, 1);
    return NULL;
}

static void *allocating(void *unused) {
    while (atomic_load(&done) < THREADS) {
        void *blocks[20];
        for (int i = 0; i < 20; i++) blocks[i] = must_malloc((size_t)(i + 1) * 900);
        for (int i = 0; i < 20; i++) free(blocks[i]);
    }
    return unused;
}

// Under a lock of the loader's.
static int at_library(struct dl_phdr_info *info, size_t bytes, void *count) {
    free(must_malloc(bytes + strlen(info->dlpi_name)));
    ++*(size_t *)count;
    return 0;
}
static void *iterating(void *unused) {
    while (atomic_load(&done) < THREADS) {
        size_t count = 0;
        dl_iterate_phdr(at_library, &count);
        CHECK(count >= 3);
    }
    return unused;
}

int main(void) {
    pthread_t thread[THREADS + 3];
    for (uintptr_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, opening, (void *)(i * 99 + 5)), 0);
    for (int i = THREADS; i < THREADS + 2; i++) CHECK_EQ(pthread_create(&thread[i], NULL, allocating, NULL), 0);
    CHECK_EQ(pthread_create(&thread[THREADS + 2], NULL, iterating, NULL), 0);
    for (int i = 0; i < THREADS + 3; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    return 0;
}
