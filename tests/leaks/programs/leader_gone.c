// The first thread ends before the others, one of which exits: it is no thread that could not be stopped.
// leaks normal: 1 lose
#include "support.h"

#include <pthread.h>
#include <unistd.h>

static NOINLINE void lose(void) { malloc(10); }

static void *end_all(void *first) {
    pthread_join(*(pthread_t *)first, NULL);
    LOSE(lose());
    exit(0);
}

int main(void) {
    static pthread_t first;
    pthread_t other;
    first = pthread_self();
    pthread_create(&other, NULL, end_all, &first);
    pthread_exit(NULL);
}
