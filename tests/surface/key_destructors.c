// acre-test: libs=pthread
// Destructors of pthread keys, several rounds of them: they allocate after the thread's own state
// has been taken down, and free what earlier rounds and other threads allocated.
#include "check.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>

enum { kKeys = 6, kThreads = 4000 };

struct Held {
    int round;
    int key;
    unsigned char *data;
};

static pthread_key_t keys[kKeys];
static _Atomic int rounds_run;
static _Atomic(void *) handed_over;

static struct Held *held_new(int key, int round) {
    struct Held *held = (struct Held *)must_malloc(sizeof *held);
    held->key = key;
    held->round = round;
    held->data = (unsigned char *)must_malloc(500 + 700 * (size_t)key);
    memset(held->data, 1 + key, 500 + 700 * (size_t)key);
    return held;
}

static void held_free(struct Held *held) {
    CHECK(all_bytes_are(held->data, 500 + 700 * (size_t)held->key, (unsigned char)(1 + held->key)));
    free(held->data);
    free(held);
}

static void destructor(void *value) {
    struct Held *held = (struct Held *)value;
    const int key = held->key;
    const int round = held->round;
    held_free(held);
    atomic_fetch_add(&rounds_run, 1);
    // Set again: the key is destroyed once more, as long as the system allows it.
    if (round + 1 < PTHREAD_DESTRUCTOR_ITERATIONS) {
        CHECK_EQ(pthread_setspecific(keys[key], held_new(key, round + 1)), 0);
    }
    char *mine = (char *)must_malloc(200000);
    mine[0] = mine[199999] = 1;
    free(mine);
    free(atomic_exchange(&handed_over, must_malloc(3000)));
}

static void *run(void *use) {
    for (int key = 0; key < kKeys; key++) {
        CHECK_EQ(pthread_setspecific(keys[key], held_new(key, 0)), 0);
    }
    (void)use;
    return NULL;
}

// A thread whose only allocation ever is the one in its destructor.
static void only_in_destructor(void *value) {
    (void)value;
    void *block = must_malloc(77);
    memset(block, 1, 77);
    free(block);
    atomic_fetch_add(&rounds_run, 1);
}

static void *run_without_malloc(void *key) {
    CHECK_EQ(pthread_setspecific(*(pthread_key_t *)key, key), 0);
    return NULL;
}

static void batch(void *(*start)(void *), void *argument) {
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, start, argument), 0);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

int main(void) {
    // Half of the keys exist before the allocator is used by this thread, half are made after it.
    for (int key = 0; key < kKeys / 2; key++) CHECK_EQ(pthread_key_create(&keys[key], destructor), 0);
    free(must_malloc(100));
    for (int key = kKeys / 2; key < kKeys; key++) {
        CHECK_EQ(pthread_key_create(&keys[key], destructor), 0);
    }
    size_t warm = 0;
    for (int i = 0; i < kThreads; i += 4) {
        batch(run, NULL);
        if (i == kThreads / 4) warm = resident_bytes();
    }
    CHECK_EQ(atomic_load(&rounds_run), kThreads * kKeys * PTHREAD_DESTRUCTOR_ITERATIONS);
    CHECK_LE(resident_bytes(), warm + 16 * MIB);

    pthread_key_t lonely;
    CHECK_EQ(pthread_key_create(&lonely, only_in_destructor), 0);
    atomic_store(&rounds_run, 0);
    for (int i = 0; i < 1000; i += 4) batch(run_without_malloc, &lonely);
    CHECK_EQ(atomic_load(&rounds_run), 1000);
    CHECK_LE(resident_bytes(), warm + 16 * MIB);
    free(atomic_exchange(&handed_over, NULL));
    return 0;
}
