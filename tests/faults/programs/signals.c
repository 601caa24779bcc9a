// Handlers that interrupt malloc, free, realloc and calloc: signals of a timer and of another thread as fast as they
// come, and on x86-64 a trap after every instruction. A handler changes errno, uses stack and vector registers, and
// allocates nothing.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <ucontext.h>

#include "load.h"

enum { kPlaces = 300, kSignals = 2000 };

static atomic_ulong handled, trapped;
static atomic_int done;

__attribute__((noinline)) static void disturb(void) {
    volatile char stack[2000];
    volatile double figure = 1.5;
    for (size_t i = 0; i < sizeof stack; i += 16) stack[i] = (char)(figure *= 1.01);
    errno = EINTR;
}

static void on_signal(int number) {
    (void)number;
    const int saved = errno;
    disturb();
    atomic_fetch_add(&handled, 1);
    errno = saved;
}

#if defined(__x86_64__)
static void on_trap(int number, siginfo_t *info, void *context) {
    (void)number, (void)info, (void)context;
    const int saved = errno;
    disturb();
    atomic_fetch_add(&trapped, 1);
    errno = saved;
}

static void step(int on) {
    if (on) {
        asm volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc");
    } else {
        asm volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc");
    }
}

static void step_through(void) {
    struct sigaction action = {0};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, NULL);
    static struct load_block *places[40];
    uint64_t random = 5;
    step(1);
    load_steps(places, 40, &random, 30);
    load_free_all(places, 40);
    step(0);
    CHECK(atomic_load(&trapped) > 5000);
}
#else
static void step_through(void) {}
#endif

static void *work(void *seed) {
    static __thread struct load_block *places[kPlaces];
    uint64_t random = (uint64_t)(uintptr_t)seed;
    while (atomic_load(&done) == 0) load_steps(places, kPlaces, &random, 100);
    load_free_all(places, kPlaces);
    return NULL;
}

int main(void) {
    step_through();
    struct sigaction action = {0};
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    pthread_t threads[3];
    for (uintptr_t i = 0; i < 3; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void *)(i + 1)) == 0);
    const struct itimerval often = {{0, 100}, {0, 100}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; atomic_load(&handled) < kSignals; ++i) {
        pthread_kill(threads[i % 3], SIGUSR1);
        if (i % 32 == 0) usleep(20);  // those that wait are one
    }
    atomic_store(&done, 1);
    for (int i = 0; i < 3; ++i) pthread_join(threads[i], NULL);
    printf("handled %lu, after each of %lu instructions\n", atomic_load(&handled), atomic_load(&trapped));
    return 0;
}
