// What the stack of a coroutine leads to, which lies in a block, whether the coroutine rests or works at the end.
// leaks normal: none
#include "support.h"

#include <ucontext.h>

static ucontext_t first, second, third;

static void rest(void) {
    void *volatile own = malloc(10);
    swapcontext(&second, &first);
    free(own);
}
static void end_here(void) {
    void *volatile own = malloc(20);
    exit(own == NULL);
}

static void make(ucontext_t *context, void (*body)(void)) {
    getcontext(context);
    context->uc_stack.ss_size = 65536;
    context->uc_stack.ss_sp = malloc(context->uc_stack.ss_size);
    context->uc_link = &first;
    makecontext(context, body, 0);
}

int main(void) {
    make(&second, rest);
    swapcontext(&first, &second);
    make(&third, end_here);
    wipe();
    swapcontext(&first, &third);
    return 1;
}
