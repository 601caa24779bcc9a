// A stack that overflows, while each block is a sample of the heap profile: the program's handler is called, wherever it
// happened, and what it does then does not wait for anything.
// acre-test: libs=pthread env=ACRE_CONF=prof:true,prof_sample:0
#include "check.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

enum { CHILDREN = 24, STACK = 160 << 10, ALTERNATIVE = 64 << 10 };

static void on_fault(int number) { _exit(number == SIGSEGV ? 0 : 2); }

__attribute__((noinline)) static size_t deeper(size_t n) {
    char *block = must_malloc(n % 3000 + 1);
    block[0] = (char)n;
    const size_t sum = n > 1000000 ? 0 : deeper(n + 1);
    const size_t last = sum + (size_t)block[0];
    free(block);
    return last;
}

static void *overflowing(void *shift) {
    const stack_t stack = {.ss_sp = must_malloc(ALTERNATIVE), .ss_size = ALTERNATIVE};
    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    char *volatile moved = __builtin_alloca((uintptr_t)shift);
    hide((void *)moved);
    hide((void *)(uintptr_t)deeper(1));
    return NULL;
}

static void overflow(uintptr_t shift) {
    alarm(60);
    struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
    CHECK_EQ(sigaction(SIGSEGV, &action, NULL), 0);
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstacksize(&attributes, STACK), 0);
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, &attributes, overflowing, (void *)shift), 0);
    pthread_join(thread, NULL);
    _exit(1);
}

int main(void) {
    for (uintptr_t i = 0; i < CHILDREN; i++) {
        const pid_t child = fork();
        if (child == 0) overflow(i * 72 + 16);
        check_child(child, 0);
    }
    return 0;
}
