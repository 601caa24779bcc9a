// acre-test: libs=pthread env=ACRE_CONF=background_thread:true,dirty_decay_ms:30
// The process ends, in every way, while the background thread works or sleeps: with the right code, and it does end.
// Most of all after pthread_exit in main, since a process lives as long as any of its threads.
#include "background.h"

#include <pthread.h>
#include <stdatomic.h>

enum { kExits = 32 };

static _Atomic int seen_late;

static void late(void) {
    fill_and_free();
    atomic_store(&seen_late, 1);
}

__attribute__((destructor)) static void very_late(void) {
    if (atomic_load(&seen_late)) free(must_malloc(100000));
}

static void *short_life(void *argument) {
    free(must_malloc(5000));
    usleep(1000 * (useconds_t)(uintptr_t)argument);
    return NULL;
}

int main(void) {
    for (int i = 0; i < kExits; i++) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(100);
            fill_and_free();
            usleep(1000 * (useconds_t)(i % 7 * 10));  // at work, napping or asleep
            switch (i % 4) {
            case 0: _exit(0);
            case 1: atexit(late); exit(0);
            case 2: return 0;
            default: {
                pthread_t thread;
                if (i % 8 == 3) CHECK_EQ(pthread_create(&thread, NULL, short_life, (void *)(uintptr_t)(i % 50)), 0);
                pthread_exit(NULL);
            }
            }
        }
        check_child(child, 0);
    }
    return 0;
}
