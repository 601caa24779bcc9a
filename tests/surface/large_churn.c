// acre-test: libs=pthread
// Large and huge blocks come and go, in several threads, with some always alive: contents hold and
// memory stays near what is alive.
#include "check.h"

#include <malloc.h>
#include <pthread.h>

enum { kThreads = 3, kSlots = 24, kSteps = 6000 };

struct Slot {
    unsigned char *block;
    size_t size;
};

// Marks only some of the pages: this is about places, not about the speed of memory.
static void mark(struct Slot *slot, unsigned char value) {
    for (size_t i = 0; i < slot->size; i += 32 * KIB) slot->block[i] = value;
    slot->block[slot->size - 1] = value;
}

static void check_marks(const struct Slot *slot, unsigned char value) {
    for (size_t i = 0; i + 32 * KIB < slot->size; i += 32 * KIB) CHECK_EQ(slot->block[i], value);
    CHECK_EQ(slot->block[slot->size - 1], value);
}

static void *run(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument;
    struct Slot slots[kSlots];
    memset(slots, 0, sizeof slots);
    for (int step = 0; step < kSteps; step++) {
        const size_t i = random_below(&random, kSlots);
        struct Slot *slot = &slots[i];
        if (slot->block != NULL) {
            check_marks(slot, (unsigned char)(i + 1));
            free(slot->block);
        }
        const size_t limit = (size_t)1 << (16 + random_below(&random, 8));
        slot->size = 32 * KIB + 1 + random_below(&random, limit);
        const uint64_t how = next_random(&random) % 8;
        if (how == 0) slot->block = (unsigned char *)hide(calloc(1, slot->size));
        else if (how == 1) slot->block = (unsigned char *)hide(memalign(64 * KIB, slot->size));
        else slot->block = (unsigned char *)must_malloc(slot->size);
        CHECK(slot->block != NULL);
        if (how == 0) check_marks(slot, 0);
        mark(slot, (unsigned char)(i + 1));
        if (how == 2) {
            slot->size += slot->size / 2;
            slot->block = (unsigned char *)hide(realloc(slot->block, slot->size));
            CHECK(slot->block != NULL);
            mark(slot, (unsigned char)(i + 1));
        }
    }
    for (size_t i = 0; i < kSlots; i++) {
        if (slots[i].block != NULL) check_marks(&slots[i], (unsigned char)(i + 1));
        free(slots[i].block);
    }
    return NULL;
}

int main(void) {
    without_huge_pages();
    free(must_malloc(1));
    const size_t before = resident_bytes();
    for (int round = 0; round < 2; round++) {
        pthread_t threads[kThreads];
        for (int i = 0; i < kThreads; i++) {
            CHECK_EQ(pthread_create(&threads[i], NULL, run,
                                    (void *)(uintptr_t)(round * kThreads + i + 1)), 0);
        }
        for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    malloc_trim(0);
    CHECK_LE(resident_bytes(), before + 8 * MIB);
    return 0;
}
