// Blocks that the callers of exit have in their variables.
// leaks normal: none
// leaks strict: none
#include "support.h"

static NOINLINE void end_here(void) {
    void *volatile own = malloc(20);
    exit(own == NULL);
}

int main(void) {
    void *volatile own = malloc(30000);
    end_here();
    return own == NULL;
}
