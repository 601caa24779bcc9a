// acre-test: not-preload libs=pthread timeout=300
// fork while another thread tells the leak checker what to leave out: the child can tell it, too.
#include "check.h"

#include <acre/leaks.h>
#include <pthread.h>
#include <stdatomic.h>

enum { kForks = 1500 };

static _Atomic int stop;
static char here[64];

static void ignore_and_heed(const void *p) {
    CHECK_EQ(acre_leaks_ignore(p), 0);
    CHECK_EQ(acre_leaks_heed(p), 0);
    CHECK_EQ(acre_leaks_leave_out(p, 1), 0);
    CHECK_EQ(acre_leaks_take_in(p), 0);
}

static void *work(void *unused) {
    (void)unused;
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        for (int i = 0; i < 1000; i++) ignore_and_heed(&here[0]);
        usleep(50);
    }
    return NULL;
}

int main(void) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, work, NULL), 0);
    for (int i = 0; i < kForks; i++) {
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            alarm(20);  // for one that hangs on a lock
            ignore_and_heed(&here[1]);
            _exit(9);
        }
        check_child(child, 9);
    }
    atomic_store(&stop, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}
