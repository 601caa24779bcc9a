// expect: acre: free\(0x[0-9a-f]+\): double free
// Freed again while another block of its class was allocated from before.
#include "misuse.h"

int main(void) {
    // More blocks are free than are taken again, and the one in question is not taken.
    void *blocks[20];
    for (int i = 0; i < 20; i++) blocks[i] = take(48);
    for (int i = 0; i < 20; i++) free(blocks[i]);
    void *again = take(48);
    void *victim = NULL;
    for (int i = 0; i < 20; i++) {
        if (blocks[i] != again) victim = blocks[i];
    }
    free(hide(victim));
    return survived();
}
