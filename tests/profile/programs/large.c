// Allocations around a GiB, of which three are larger by an eighth than what came before.
#include <pthread.h>
#include <stdlib.h>

__attribute__((noinline)) void *site(void *old, size_t mib) {
    void *volatile block = realloc(old, mib << 20);
    return block;
}

__attribute__((noinline)) void go_down(int more) {
    if (more == 0) {
        free(site(NULL, 1023));
        free(site(NULL, 1024));
    } else {
        go_down(more - 1);
    }
    __asm__ volatile("");
}

static void *in_thread(void *more) {
    go_down(atoi(more));
    return NULL;
}

// The first argument: so many calls more up to the first. A second one: in a thread.
int main(int argc, char **argv) {
    if (argc > 2) {
        pthread_t thread;
        return pthread_create(&thread, NULL, in_thread, argv[1]) != 0 || pthread_join(thread, NULL) != 0;
    }
    if (argc > 1) {
        go_down(atoi(argv[1]));
        return 0;
    }
    free(site(NULL, 1023));
    free(site(NULL, 1024));
    free(site(NULL, 1100));
    void *block = site(NULL, 1200);
    block = site(block, 2500);
    free(block);
    return 0;
}
