// expect: acre: malloc or free in a signal handler that interrupted malloc or free
// A thread cannot wait for a lock of its own.
#include "misuse.h"

#include <signal.h>
#include <time.h>

static void on_signal(int number) { free(take(100 * KIB)); }

int main(void) {
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer;
    CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    const struct itimerspec period = {{0, 200000}, {0, 200000}};
    CHECK_EQ(timer_settime(timer, 0, &period, NULL), 0);
    for (int i = 0; i < 20 * 1000 * 1000; i++) {
        void *block = must_malloc(40 * KIB);
        free(block);
    }
    return survived();
}
