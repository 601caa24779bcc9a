// A list whose head is lost: one leak that holds four blocks.
// leaks normal: 1 make_list + 4
#include "support.h"

static NOINLINE void make_list(void) {
    struct node *head = NULL;
    for (int i = 0; i < 5; i++) {
        struct node *first = malloc(sizeof *first);
        first->next = head;
        head = first;
    }
}

int main(void) {
    LOSE(make_list());
    return 0;
}
