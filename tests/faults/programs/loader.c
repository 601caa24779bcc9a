// loader ROUNDS LIBRARY…: threads open, use and close the libraries. Those of a thread that ends are unloaded after its
// thread-local objects. What is resident stays as it was after a tenth of the rounds.
#include <dlfcn.h>
#include <pthread.h>

#include "load.h"

static int libraries;
static char **paths;

static void *work(void *number) {
    for (int i = 0; i < libraries; ++i) {
        void *library = dlopen(paths[(i + (int)(uintptr_t)number) % libraries], RTLD_NOW | RTLD_LOCAL);
        CHECK(library != NULL);
        size_t (*use)(void) = (size_t(*)(void))dlsym(library, "use");
        CHECK(use != NULL && use() == 120);
        CHECK(dlclose(library) == 0);
    }
    return NULL;
}

int main(int count, char **words) {
    const int rounds = atoi(words[1]);
    libraries = count - 2;
    paths = words + 2;
    size_t first = 0;
    for (int round = 0; round < rounds; ++round) {
        pthread_t threads[4];
        for (uintptr_t i = 0; i < 4; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
        for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
        if (round == rounds / 10) first = load_resident_after_purge();
    }
    const size_t last = load_resident_after_purge();
    printf("resident %zu KiB, then %zu KiB\n", first >> 10, last >> 10);
    fflush(stdout);
    CHECK(last < first + first / 20 + (1 << 20));
    return 0;
}
