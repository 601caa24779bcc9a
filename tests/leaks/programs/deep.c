// A leak at the end of more calls than a stack is kept of.
// leaks normal: 1 lose
#include "support.h"

static NOINLINE void lose(void) { malloc(100); }
static NOINLINE void go_down(int more) {
    if (more == 0) {
        lose();
    } else {
        go_down(more - 1);
    }
}

int main(void) {
    LOSE(go_down(150));
    return 0;
}
