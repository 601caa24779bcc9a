// Misuses guarded blocks: program CASE. run.py says how each case has to end.
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

enum { PAGE = 4096, ASKED = 100, BYTES = 112 };
enum side { LEFT, RIGHT };

static const char *kind;
static int is(const char *name) { return strcmp(kind, name) == 0; }

static __attribute__((noinline)) char *make(size_t n) {
    char *volatile p = malloc(n);
    return p;
}
static __attribute__((noinline)) void drop(void *p) {
    free(p);
    __asm__ volatile("" ::: "memory");
}

// A block at this side of its page.
static char *at(enum side side) {
    for (;;) {
        char *p = make(ASKED);
        const size_t offset = (uintptr_t)p % PAGE;
        if (offset != 0 && offset != PAGE - BYTES) exit(90);  // not guarded
        if ((offset == 0) == (side == LEFT)) return p;
        drop(p);
    }
}

static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) _exit(91);
}

static void touch(char *p, int writes) {
    volatile char *place = p;
    if (writes) *place = 1;
    else (void)*place;
}
static char *freed(enum side side) {
    char *p = at(side);
    drop(p);
    return p;
}

static void misuse(void) {
    char *p;
    if (is("read after free")) touch(freed(LEFT) + 8, 0);
    if (is("write after free")) touch(freed(RIGHT) + 8, 1);
    if (is("read over")) touch(at(RIGHT) + BYTES, 0);
    if (is("write over")) touch(at(RIGHT) + BYTES + 31, 1);
    if (is("copy over")) { char from[PAGE]; memset(from, 0, sizeof from); memcpy(at(RIGHT), from, sizeof from); }
    if (is("read under")) touch(at(LEFT) - 1, 0);
    if (is("write under")) touch(at(LEFT) - 32, 1);
    if (is("over and freed")) { p = at(RIGHT); drop(p); touch(p + BYTES, 1); }
    if (is("double free")) drop(freed(LEFT));
    if (is("delayed double free")) { p = freed(LEFT); for (int i = 0; i < 100; i++) drop(make(ASKED)); drop(p); }
    if (is("interior free")) drop(at(RIGHT) + 8);
    if (is("interior free of freed")) drop(freed(RIGHT) + 8);
    if (is("free before")) drop(at(RIGHT) - 16);
    if (is("free of guard page")) drop(at(LEFT) - PAGE / 2);
    if (is("realloc of freed")) free(realloc(freed(LEFT), 200));
    if (is("rest overwritten")) { p = at(RIGHT); touch(p + ASKED, 1); drop(p); }
    if (is("page overwritten")) { p = at(LEFT); touch(p + BYTES + 1000, 1); drop(p); }
    if (is("page overwritten before")) { p = at(RIGHT); touch(p - 3, 1); drop(p); }
}

// In the hardened mode.
static __attribute__((noinline)) void misuse_hardened(void) {
    enum { LARGE = 100000, ROUNDED = (LARGE + PAGE - 1) / PAGE * PAGE };
    char *p;
    if (is("large over")) touch(make(LARGE) + ROUNDED, 1);
    if (is("large under")) touch(make(LARGE) - 1, 0);
    if (is("large after free")) { p = make(LARGE); drop(p); touch(p + LARGE / 2, 1); }
    if (is("over a run's end")) for (p = make(ASKED);; p++) touch(p, 0);
    if (is("under a run's start")) for (p = make(ASKED);; p--) touch(p, 0);
    if (is("no bytes")) touch(make(0), 0);
}

// --- Handlers of the program ---------------------------------------------------------------------

static sigjmp_buf back;
static struct sigaction before;

static int is_blocked(int number) {
    sigset_t now;
    pthread_sigmask(SIG_SETMASK, NULL, &now);
    return sigismember(&now, number);
}
static void told(int number, siginfo_t *info, void *context) {
    if (number != SIGSEGV || info == NULL || context == NULL) _exit(92);
    say(info->si_code > 0 ? "mine: fault\n" : "mine: sent\n");
    if (is("mask") && (!is_blocked(SIGUSR1) || !is_blocked(SIGSEGV))) _exit(93);
    if (is("nodefer") && is_blocked(SIGSEGV)) _exit(94);
    if (is("own stack")) {
        stack_t stack;
        if (sigaltstack(NULL, &stack) != 0 || (stack.ss_flags & SS_ONSTACK) == 0) _exit(95);
    }
    if (is("returns") || is("later handler") || is("sent to handler") || is("reset")) return;
    if (is("jumps")) siglongjmp(back, 1);
    if (is("chains")) before.sa_sigaction(number, info, context);
    _exit(7);
}
// As a collector's write barrier: the handler makes the page writable, and the access is made again.
static char *protected_page;
static void unprotect(int number) {
    if (number != SIGSEGV || mprotect(protected_page, PAGE, PROT_READ | PROT_WRITE) != 0) _exit(98);
    say("mine: written\n");
}
static void write_protected(void) {
    void *p = NULL;
    signal(SIGSEGV, unprotect);
    if (posix_memalign(&p, PAGE, PAGE) != 0) _exit(99);
    protected_page = p;
    for (int round = 0; round < 2; round++) {
        if (mprotect(p, PAGE, PROT_READ) != 0) _exit(99);
        touch(p, 1);
    }
    exit(0);
}
static void plain(int number) {
    say("mine: plain\n");
    _exit(number == SIGSEGV ? 7 : 92);
}

static void set(int flags, int masked) {
    struct sigaction action = {0};
    if ((flags & SA_SIGINFO) != 0) action.sa_sigaction = told;
    else action.sa_handler = plain;
    action.sa_flags = flags;
    if (masked != 0) sigaddset(&action.sa_mask, masked);
    if (sigaction(SIGSEGV, &action, &before) != 0) _exit(96);
}

// acre's calls come here, too. Before acre sets its handler, another thread sets one of the program's.
static int set_meanwhile;
extern int __sigaction(int number, const struct sigaction *action, struct sigaction *old);
int sigaction(int number, const struct sigaction *action, struct sigaction *old) {
    if (set_meanwhile && number == SIGSEGV && action != NULL) {
        set_meanwhile = 0;
        struct sigaction mine = {.sa_sigaction = told, .sa_flags = SA_SIGINFO};
        __sigaction(SIGSEGV, &mine, NULL);
    }
    return __sigaction(number, action, old);
}

static void *in_thread(void *p) {
    touch(p, 0);
    return NULL;
}

static void handlers(void) {
    if (is("protected by the program")) write_protected();
    if (is("siginfo") || is("returns") || is("jumps")) set(SA_SIGINFO, 0);
    if (is("plain")) set(0, 0);
    if (is("mask")) set(SA_SIGINFO, SIGUSR1);
    if (is("nodefer")) set(SA_SIGINFO | SA_NODEFER, 0);
    if (is("reset")) set(SA_SIGINFO | SA_RESETHAND, 0);
    if (is("ignored") || is("sent and ignored")) signal(SIGSEGV, SIG_IGN);
    if (is("sent to handler") || is("own fault to handler")) set(SA_SIGINFO, 0);
    if (is("own stack")) {
        static char stack[64 << 10];
        const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
        sigaltstack(&own, NULL);
        set(SA_SIGINFO | SA_ONSTACK, 0);
    }
    if (is("jumps")) {  // out of the handler, twice: each access is told
        static volatile int jumps;
        if (sigsetjmp(back, 1) != 0) say("back\n");
        if (jumps++ < 2) touch(freed(LEFT), 0);
        exit(0);
    }
    if (is("set meanwhile")) {
        set(0, 0);
        set_meanwhile = 1;
    }
    char *p = at(LEFT);  // acre's handler is there from now on, at the latest
    if (is("later handler") || is("chains")) {
        set(SA_SIGINFO, 0);
        p = at(LEFT);  // acre's goes above it
    }
    if (is("never above")) set(SA_SIGINFO, 0);  // no guarded block follows
    if (is("restored")) {
        struct sigaction mine;
        set(SA_SIGINFO, 0);
        drop(at(LEFT));
        sigaction(SIGSEGV, &before, &mine);
        drop(at(LEFT));
    }
    if (strncmp(kind, "sent", 4) == 0) {
        raise(SIGSEGV);
        say("went on\n");
        exit(0);
    }
    if (strncmp(kind, "own fault", 9) == 0) touch((char *)8, 1);
    if (is("fork")) {
        const pid_t child = fork();
        if (child == 0) {
            drop(p);
            touch(p, 0);
            _exit(97);
        }
        int status;
        waitpid(child, &status, 0);
        touch(p, 1);  // the parent has it still
        drop(p);
        say(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? "the child is dead\n" : "the child lives\n");
        exit(0);
    }
    if (is("thread")) {
        pthread_t thread;
        drop(p);
        pthread_create(&thread, NULL, in_thread, p);
        pthread_join(thread, NULL);
    }
    drop(p);
    touch(p, 1);
}

int main(int count, char **words) {
    (void)count;
    kind = words[1];
    misuse();
    misuse_hardened();
    handlers();
    say("the end\n");
    return 0;
}
