// Of 32 blocks one is kept, by a function of its own, and the others are freed; a third function fills its runs.
#include <stdlib.h>

enum { kKept = 4000, kOf = 32, kSize = 1024 };

static void *kept[kKept], *freed[kKept * (kOf - 1)], *dense[kKept];

__attribute__((noinline)) void *site_kept(void) {
    void *volatile block = malloc(kSize);
    return block;
}
__attribute__((noinline)) void *site_freed(void) {
    void *volatile block = malloc(kSize);
    return block;
}
__attribute__((noinline)) void *site_dense(void) {
    void *volatile block = malloc(2 * kSize);
    return block;
}

int main(void) {
    for (int i = 0; i < kKept; i++) {
        kept[i] = site_kept();
        dense[i] = site_dense();
        for (int j = 0; j < kOf - 1; j++) freed[i * (kOf - 1) + j] = site_freed();
    }
    for (int i = 0; i < kKept * (kOf - 1); i++) free(freed[i]);
    return 0;
}
