// acre-test: libs=pthread timeout=300
// fork from a process whose threads allocate all the time; the child allocates, frees what others
// allocated, makes threads and forks again. Linked, static and preloaded together: thousands of forks.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kThreads = 3, kForks = 400, kSlots = 256 };

struct Block {
    size_t size;
    unsigned char tag;
};

static _Atomic(struct Block *) slots[kSlots];
static _Atomic int stop;

static struct Block *block_new(uint64_t *random) {
    const size_t size =
        sizeof(struct Block) + random_below(random, (size_t)1 << (4 + random_below(random, 12)));
    struct Block *block = (struct Block *)must_malloc(size);
    block->size = size;
    block->tag = (unsigned char)next_random(random);
    memset(block + 1, block->tag, size - sizeof *block);
    return block;
}

static void block_free(struct Block *block) {
    if (block == NULL) return;
    CHECK(all_bytes_are(block + 1, block->size - sizeof *block, block->tag));
    free(block);
}

static void exchange(uint64_t *random) {
    block_free(atomic_exchange(&slots[random_below(random, kSlots)], block_new(random)));
}

static void *work(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (int i = 0; i < 200; i++) exchange(&random);
        if (random_below(&random, 20) == 0) free(must_malloc(5 * MIB));
        // Leaves the processor to the children now and then.
        if (random_below(&random, 4) == 0) usleep(200);
    }
    return NULL;
}

static void *work_in_child(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    for (int i = 0; i < 200; i++) exchange(&random);
    return NULL;
}

// Only the forking thread lives on in here. The alarm is for a child that hangs on a lock.
static void child_life(int number) {
    pid_t child = 0;
    for (int generation = 0; child == 0 && generation < 3; generation++) {
        alarm(300);
        uint64_t random = (uint64_t)number * 1000 + (uint64_t)generation;
        for (int i = 0; i < 200; i++) exchange(&random);
        free(must_malloc(10 * MIB));
        if (number % 8 == 0) {
            pthread_t threads[2];
            for (int i = 0; i < 2; i++) {
                CHECK_EQ(pthread_create(&threads[i], NULL, work_in_child,
                                        (void *)(uintptr_t)(number + i + 1)), 0);
            }
            for (int i = 0; i < 2; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
        }
        if (number % 4 == 0) {
            for (int i = 0; i < kSlots; i++) block_free(atomic_exchange(&slots[i], NULL));
        }
        if (number % 16 != 0) break;
        // The grandchild lives the same life, its parent waits for it.
        child = generation < 2 ? fork() : -1;
        if (child > 0) check_child(child, 9);
    }
    _exit(9);
}

int main(void) {
    pthread_t threads[kThreads];
    for (int i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)(i + 1)), 0);
    }
    uint64_t random = 4711;
    for (int i = 1; i <= kForks; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) child_life(i);
        for (int j = 0; j < 10; j++) exchange(&random);
        check_child(child, 9);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < kSlots; i++) block_free(atomic_exchange(&slots[i], NULL));
    return 0;
}
