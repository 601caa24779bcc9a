// Signals that interrupt a program at any place, while each block is a sample of the heap profile; and a thread that
// writes profiles meanwhile.
// acre-test: libs=pthread env=ACRE_CONF=prof:true,prof_sample:0
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>
#include <signal.h>
#include <unistd.h>

__attribute__((weak)) int mallctl(const char *name, void *old, size_t *old_size, void *to, size_t size);

enum { THREADS = 3, ROUNDS = 30000 };

static atomic_int done, signals;
static pthread_t thread[THREADS];

static void on_signal(int number) {
    char frame[2000];
    hide(frame);
    atomic_fetch_add(&signals, number == SIGUSR1);
}

static void *allocating(void *number) {
    uint64_t state = (uint64_t)(uintptr_t)number;
    void *kept[16] = {0};
    for (int i = 0; i < ROUNDS; i++) {
        const size_t at = random_below(&state, 16);
        free(kept[at]);
        kept[at] = must_malloc(random_below(&state, i % 50 == 0 ? 200000 : 3000));
    }
    for (int i = 0; i < 16; i++) free(kept[i]);
    atomic_fetch_add(&done, 1);
    return NULL;
}

static void *writing(void *path) {
    while (atomic_load(&done) < THREADS) {
        const char *const to = path;
        if (&mallctl != NULL) CHECK_EQ(mallctl("prof.dump", NULL, NULL, (void *)&to, sizeof to), 0);
        usleep(2000);
    }
    return NULL;
}

int main(void) {
    char path[] = "/tmp/acre-signals-XXXXXX.pb.gz";
    const int file = mkstemps(path, 6);
    CHECK(file >= 0);
    close(file);
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    for (uintptr_t i = 0; i < THREADS; i++) CHECK_EQ(pthread_create(&thread[i], NULL, allocating, (void *)(i + 3)), 0);
    pthread_t writer;
    CHECK_EQ(pthread_create(&writer, NULL, writing, path), 0);
    while (atomic_load(&done) < THREADS) {
        for (int i = 0; i < THREADS; i++) pthread_kill(thread[i], SIGUSR1);
        usleep(300);
    }
    for (int i = 0; i < THREADS; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
    CHECK_EQ(pthread_join(writer, NULL), 0);
    CHECK(atomic_load(&signals) > 0);
    CHECK_EQ(unlink(path), 0);
    return 0;
}
