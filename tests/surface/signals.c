// acre-test: libs=pthread
// acre-test: not-hardened
// The allocator leaves signal masks, handlers, pending signals and alternate stacks alone.
// The hardened mode has a handler for SIGSEGV.
#include "check.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>

struct State {
    sigset_t mask;
    sigset_t pending;
    struct sigaction actions[65];
    stack_t stack;
};

static int threads_run;

static void *work(void *unused) {
    void *blocks[500];
    for (size_t i = 0; i < 500; i++) blocks[i] = must_malloc(i * 173 % 70000);
    for (size_t i = 0; i < 500; i++) free(blocks[i]);
    free(must_malloc(80 * MIB));
    malloc_trim(0);
    threads_run++;
    return unused;
}

static void handler(int signal) { (void)signal; }

static void look(struct State *state) {
    memset(state, 0, sizeof *state);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, NULL, &state->mask), 0);
    CHECK_EQ(sigpending(&state->pending), 0);
    CHECK_EQ(sigaltstack(NULL, &state->stack), 0);
    for (int signal = 1; signal <= 64; signal++) {
        if (signal == 32 || signal == 33) continue;
        CHECK_EQ(sigaction(signal, NULL, &state->actions[signal]), 0);
    }
}

static void check_same(const struct State *before, const struct State *after) {
    CHECK_EQ(before->stack.ss_flags, after->stack.ss_flags);
    CHECK(before->stack.ss_sp == after->stack.ss_sp);
    for (int signal = 1; signal <= 64; signal++) {
        if (signal == 32 || signal == 33) continue;
        CHECK_EQ(sigismember(&before->mask, signal), sigismember(&after->mask, signal));
        CHECK_EQ(sigismember(&before->pending, signal), sigismember(&after->pending, signal));
        CHECK(before->actions[signal].sa_handler == after->actions[signal].sa_handler);
        CHECK_EQ(before->actions[signal].sa_flags, after->actions[signal].sa_flags);
    }
}

static void round_trip(void) {
    static struct State before, after;
    look(&before);
    work(NULL);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, work, NULL), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    look(&after);
    check_same(&before, &after);
}

int main(void) {
    // As the program was started: nobody has installed a handler.
    static struct State start;
    look(&start);
    for (int signal = 1; signal <= 64; signal++) {
        if (signal == 32 || signal == 33) continue;
        CHECK_AT(start.actions[signal].sa_handler == SIG_DFL ||
                     start.actions[signal].sa_handler == SIG_IGN, signal);
    }
    round_trip();

    sigset_t all;
    sigfillset(&all);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &all, NULL), 0);
    CHECK_EQ(raise(SIGUSR1), 0);
    CHECK_EQ(raise(SIGTERM), 0);
    round_trip();
    CHECK(signal(SIGUSR1, handler) != SIG_ERR);
    CHECK(signal(SIGSEGV, handler) != SIG_ERR);
    CHECK(signal(SIGTERM, SIG_IGN) != SIG_ERR);
    round_trip();
    sigset_t none;
    sigemptyset(&none);
    CHECK_EQ(pthread_sigmask(SIG_SETMASK, &none, NULL), 0);
    round_trip();
    CHECK_EQ(threads_run, 8);
    return 0;
}
