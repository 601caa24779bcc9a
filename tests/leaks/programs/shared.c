// A block that two leaked blocks hold is counted once.
// leaks normal: 2 make_holders + 1
#include "support.h"

static NOINLINE void make_holders(void) {
    struct node *held = calloc(1, sizeof *held);
    for (int i = 0; i < 2; i++) {
        struct node *holder = malloc(sizeof *holder);
        holder->next = held;
    }
}

int main(void) {
    LOSE(make_holders());
    return 0;
}
