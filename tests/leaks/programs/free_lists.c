// Free blocks are not taken for live ones, on whatever list they are: freed by their thread or another, or never used.
// leaks normal: none
// with: prof_sample:1G
#include "support.h"

#include <pthread.h>

enum { BLOCKS = 20000 };
static void *all[BLOCKS];

static void *free_half(void *unused) {
    for (int i = 0; i < BLOCKS; i += 2) free(all[i]);
    return unused;
}

int main(void) {
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < BLOCKS; i++) all[i] = malloc(1 + (unsigned)i * 37 % 5000);
        pthread_t thread;
        pthread_create(&thread, NULL, free_half, NULL);
        pthread_join(thread, NULL);
        for (int i = 1; i < BLOCKS; i += 2) free(all[i]);
    }
    return 0;
}
