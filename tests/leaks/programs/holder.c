// A lost block that holds two others, allocated elsewhere.
// leaks normal: 1 make_holder + 2
#include "support.h"

static NOINLINE struct node *make_holder(void) { return malloc(sizeof(struct node)); }
static NOINLINE void fill(struct node *holder) {
    void *block[2];
    for (int i = 0; i < 2; i++) block[i] = malloc(1600);
    memcpy(holder->more, block, sizeof block);
}

int main(void) {
    struct node *holder = make_holder();
    LOSE(fill(holder));
    holder = NULL;
    return 0;
}
