// Threads that allocate while each forks again and again. A child frees what its parent's threads had, allocates,
// starts a thread, and forks once more. Nobody may hang (alarm) or find a changed block.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "load.h"

enum { kThreads = 4, kPlaces = 200, kForks = 20 };

static struct load_block *places[kThreads][kPlaces];

static void *in_thread_of_child(void *unused) {
    static __thread struct load_block *mine[50];
    uint64_t random = 99;
    load_steps(mine, 50, &random, 500);
    load_free_all(mine, 50);
    return unused;
}

static int wait_for(pid_t child) {
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

// Blocks of the thread that called fork are whole; those of the others may be in the middle of a change.
static int in_child(unsigned self, uint64_t random) {
    alarm(60);
    load_steps(places[self], kPlaces, &random, 300);
    pthread_t thread;
    if (pthread_create(&thread, NULL, in_thread_of_child, NULL) == 0) pthread_join(thread, NULL);
    const pid_t grandchild = fork();
    if (grandchild == 0) {
        load_free_all(places[self], kPlaces);
        in_thread_of_child(NULL);
        _exit(3);
    }
    if (grandchild > 0 && wait_for(grandchild) != 3) return 4;
    load_free_all(places[self], kPlaces);
    return 3;
}

static void *work(void *number) {
    const unsigned self = (unsigned)(uintptr_t)number;
    uint64_t random = self + 1;
    for (int i = 0; i < kForks; ++i) {
        load_steps(places[self], kPlaces, &random, 400);
        const pid_t child = fork();
        if (child == 0) _exit(in_child(self, random));
        if (child > 0) CHECK(wait_for(child) == 3);
    }
    load_free_all(places[self], kPlaces);
    return NULL;
}

int main(void) {
    alarm(100);
    pthread_t threads[kThreads];
    for (uintptr_t i = 0; i < kThreads; ++i) CHECK(pthread_create(&threads[i], NULL, work, (void *)i) == 0);
    for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
    puts("done");
    return 0;
}
