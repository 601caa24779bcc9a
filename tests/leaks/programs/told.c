// What a program says: blocks that are none, code whose blocks are none, memory that is not looked at.
// leaks normal: 1 lose, 1 lose_again, 1 keep_in_cache
// leaks draconian: 1 lose, 1 lose_again, 1 keep_in_cache, 1 keep_reachable
// linked
#include "support.h"

#include <acre/leaks.h>

static void *cache[8], *reachable;

static NOINLINE void lose(void) { malloc(10); }
static NOINLINE void lose_again(void) {
    void *block = malloc(20);
    acre_leaks_ignore(block);
    if (acre_leaks_heed(block) != 0 || acre_leaks_heed(block) == 0) exit(1);
}
static NOINLINE void lose_ignored(void) {
    struct node *holder = malloc(sizeof *holder);
    holder->next = malloc(100);
    acre_leaks_ignore(holder->more);
}
static NOINLINE void lose_disabled(void) {
    acre_leaks_disable();
    struct node *holder = malloc(sizeof *holder);
    acre_leaks_disable();
    malloc(30);
    acre_leaks_enable();
    malloc(40000);
    acre_leaks_enable();
    holder->next = malloc(100);
}
static NOINLINE void keep_in_cache(void) { cache[3] = malloc(50); }
static NOINLINE void keep_reachable(void) { reachable = malloc(60); }

int main(void) {
    LOSE(lose());
    LOSE(lose_again());
    LOSE(lose_ignored());
    LOSE(lose_disabled());
    LOSE(keep_in_cache());
    LOSE(keep_reachable());
    if (acre_leaks_leave_out(cache, sizeof cache) != 0) return 1;
    return 0;
}
