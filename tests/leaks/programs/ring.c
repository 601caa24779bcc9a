// Two rings, one with a block that hangs on it: in each one block stands for all.
// leaks normal: 2 make_ring + 5
#include "support.h"

static NOINLINE void make_ring(int hanging) {
    struct node *tail = malloc(sizeof *tail), *all[3];
    for (int i = 0; i < 3; i++) all[i] = malloc(sizeof *tail);
    for (int i = 0; i < 3; i++) all[i]->next = all[(i + 1) % 3];
    if (hanging) {
        memcpy(all[2]->more, &tail, sizeof tail);
        tail->next = NULL;
    } else {
        free(tail);
    }
}

int main(void) {
    LOSE(make_ring(1));
    LOSE(make_ring(0));
    return 0;
}
