// mixed [damage]: threads with a mixed load, huge blocks that grow, a purge, a fork. Prints how many requests were
// refused. damage: a byte of a block is changed, which has to be found.
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

#include "load.h"

enum { kPlaces = 400, kSteps = 6000 };

static void *work(void *seed) {
    static __thread struct load_block *places[kPlaces];
    uint64_t random = (uint64_t)(uintptr_t)seed;
    const size_t refused = load_steps(places, kPlaces, &random, kSteps);
    load_free_all(places, kPlaces);
    return (void *)(uintptr_t)refused;
}

static size_t grow_one(void) {
    struct load_block *block = NULL;
    size_t refused = 0;
    for (size_t size = 1000; size < (size_t)300 << 20; size *= 6) {
        struct load_block *made = load_resize(block, size, size);
        if (made == NULL) ++refused;
        else block = made;
    }
    load_free(block);
    return refused;
}

static size_t all(void) {
    size_t refused = 0;
    pthread_t threads[3];
    int started = 0;
    while (started < 3 && pthread_create(&threads[started], NULL, work, (void *)(uintptr_t)(started + 1)) == 0) {
        ++started;
    }
    refused += (size_t)(uintptr_t)work((void *)7) + grow_one();
    for (int i = 0; i < started; ++i) {
        void *theirs;
        pthread_join(threads[i], &theirs);
        refused += (size_t)(uintptr_t)theirs;
    }
    malloc_trim(0);
    return refused;
}

int main(int count, char **words) {
    if (count > 1) {
        struct load_block *block = load_resize(NULL, 3000, 1);
        block->bytes[30] ^= 1;
        load_free(block);
    }
    size_t refused = all();
    const pid_t child = fork();
    if (child == 0) {
        all();
        _exit(5);
    }
    if (child > 0) {
        int status;
        CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
    refused += all();
    printf("refused %zu\n", refused);
    return 0;
}
