// Runs until its input ends: for checks while it runs. After each line it has lost one block more.
#include "support.h"

#include <pthread.h>
#include <unistd.h>

static NOINLINE void lose(void) { malloc(100); }

// Allocates and frees all the time.
static void *work(void *unused) {
    void *own[64] = {0};
    for (unsigned i = 0;; i++) {
        free(own[i % 64]);
        own[i % 64] = malloc(i * 37 % 3000);
    }
    return unused;
}

int main(void) {
    pthread_t thread;
    char line[64];
    for (int i = 0; i < 3; i++) pthread_create(&thread, NULL, work, NULL);
    while (fgets(line, sizeof line, stdin) != NULL) {
        LOSE(lose());
        puts("lost");
        fflush(stdout);
    }
    _exit(0);
}
