// acre-test: libs=pthread timeout=300
// fork in a signal handler that interrupts malloc and free: in a lone thread, in one of four, in all four. The child
// ends at once, or returns from the handler, so that what was interrupted goes on, or allocates in the handler: then
// acre may end it, if it needs what is half changed, but it does not hang.
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

enum { kThreads = 4, kForks = 600, kSlots = 64, kRoundsOfChild = 500 };

static _Atomic int forks, stop;
static _Atomic unsigned rounds[kThreads];
static volatile sig_atomic_t may_allocate, in_child;

static void on_signal(int number) {
    const int saved_errno = errno;
    const int life = atomic_fetch_add(&forks, 1) % 3;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(number, SIG_IGN);
        alarm(300);
        if (life == 0 || !may_allocate) _exit(9);
        if (life == 1) {
            close(STDERR_FILENO);
            for (size_t i = 0; i < 60; i++) free(must_malloc(i * 997));
            _exit(9);
        }
        in_child = 1;
    } else if (life == 1 && may_allocate) {
        int status = 0;
        CHECK_EQ(waitpid(child, &status, 0), child);
        CHECK(WIFEXITED(status) ? WEXITSTATUS(status) == 9 : WTERMSIG(status) == SIGABRT);
    } else {
        check_child(child, 9);
    }
    errno = saved_errno;
}

static void exchange(uint64_t *random, void **blocks) {
    const size_t i = random_below(random, kSlots);
    if (blocks[i] != NULL) CHECK_EQ(*(size_t *)blocks[i], i);
    free(blocks[i]);
    blocks[i] = must_malloc(8 + random_below(random, (size_t)1 << (4 + random_below(random, 15))));
    *(size_t *)blocks[i] = i;
}

static void *work(void *argument) {
    const uintptr_t number = (uintptr_t)argument;
    uint64_t random = number;
    void *blocks[kSlots] = {0};
    while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
        exchange(&random, blocks);
        rounds[number]++;
        if (!in_child) continue;
        for (int i = 0; i < kRoundsOfChild; i++) exchange(&random, blocks);
        _exit(9);
    }
    for (int i = 0; i < kSlots; i++) free(blocks[i]);
    // The child of the last fork was interrupted between its last look at in_child and the next one at stop.
    if (in_child) _exit(9);
    return NULL;
}

static void sleep_us(long us) {
    const struct timespec time = {0, us * 1000};
    nanosleep(&time, NULL);
}

// A thread gets a signal only when it has gone on since the one before.
static void fork_in(int forking_threads, int children_allocate) {
    pthread_t threads[kThreads];
    unsigned seen[kThreads] = {0};
    atomic_store(&forks, 0);
    atomic_store(&stop, 0);
    may_allocate = children_allocate;
    for (int i = 0; i < kThreads; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, work, (void *)(uintptr_t)i), 0);
    }
    for (int i = 0; atomic_load(&forks) < kForks; i = (i + 1) % forking_threads) {
        if (rounds[i] != seen[i]) {
            seen[i] = rounds[i];
            CHECK_EQ(pthread_kill(threads[i], SIGUSR1), 0);
        }
        sleep_us(100);
    }
    atomic_store(&stop, 1);
    for (int i = 0; i < kThreads; i++) CHECK_EQ(pthread_join(threads[i], NULL), 0);
}

// The kernel's timer interrupts the only thread, which sets it anew.
static void fork_in_lone_thread(void) {
    struct sigevent event = {0};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = SIGUSR1;
    timer_t timer;
    CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
    uint64_t random = 17;
    void *blocks[kSlots] = {0};
    may_allocate = 1;
    for (int seen = -1; seen < kForks;) {
        if (seen != atomic_load(&forks) && !in_child) {
            seen = atomic_load(&forks);
            const struct itimerspec once = {{0, 0}, {0, 1000 + (long)random_below(&random, 100000)}};
            if (seen < kForks) CHECK_EQ(timer_settime(timer, 0, &once, NULL), 0);
        }
        exchange(&random, blocks);
        if (!in_child) continue;
        for (int i = 0; i < kRoundsOfChild; i++) exchange(&random, blocks);
        _exit(9);
    }
    for (int i = 0; i < kSlots; i++) free(blocks[i]);
}

int main(void) {
    const struct rlimit no_core = {0, 0};
    CHECK_EQ(setrlimit(RLIMIT_CORE, &no_core), 0);
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    fork_in_lone_thread();
    fork_in(1, 1);
    // A child may have interrupted another thread that forks, in the middle of a change: it is not to allocate.
    fork_in(kThreads, 0);
    return 0;
}
