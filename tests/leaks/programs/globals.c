// What globals lead to is no leak, though nobody frees it.
// leaks normal: none
// leaks strict: none
// leaks draconian: 2 keep, 3 keep_list
#include "support.h"

static void *in_bss;
static void *in_data = &in_bss;
struct node *list;

static NOINLINE void keep(void) {
    in_bss = malloc(10);
    in_data = malloc(100000);
}
static NOINLINE void keep_list(void) {
    for (int i = 0; i < 3; i++) {
        struct node *first = malloc(sizeof *first);
        first->next = list;
        list = first;
    }
}

int main(void) {
    LOSE(keep());
    LOSE(keep_list());
    return 0;
}
