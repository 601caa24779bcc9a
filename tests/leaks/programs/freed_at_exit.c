// What handlers at exit free is no leak, by no rules.
// leaks normal: none
// leaks draconian: none
#include "support.h"

static void *own[100];

static void free_all(void) {
    for (int i = 0; i < 100; i++) free(own[i]);
}

int main(void) {
    atexit(free_all);
    for (int i = 0; i < 100; i++) own[i] = malloc(1 + 997 * i);
    return 0;
}
