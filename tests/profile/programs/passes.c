// Blocks that this thread or another frees, at once, after 0.3 seconds, and after 10.3.
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

enum { kShort = 1000, kMedium = 200, kLong = 300, kOwnLong = 100 };

static void *medium[kMedium], *of_long[kLong], *own_long[kOwnLong];

__attribute__((noinline)) void *site(size_t size) {
    void *volatile block = malloc(size);
    return block;
}

static void free_all(void **blocks, int count) {
    for (int i = 0; i < count; i++) free(blocks[i]);
}
static void *free_medium(void *unused) {
    free_all(medium, kMedium);
    return unused;
}
static void *free_long(void *unused) {
    free_all(of_long, kLong);
    return unused;
}

static void in_thread(void *(*function)(void *)) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, function, NULL) != 0 || pthread_join(thread, NULL) != 0) abort();
}
static void rest(long milliseconds) {
    nanosleep(&(struct timespec){milliseconds / 1000, milliseconds % 1000 * 1000000}, NULL);
}

int main(void) {
    for (int i = 0; i < kLong; i++) of_long[i] = site(1000);
    for (int i = 0; i < kOwnLong; i++) own_long[i] = site(1000);
    for (int i = 0; i < kMedium; i++) medium[i] = site(1000);
    for (int i = 0; i < kShort; i++) free(site(100));
    rest(300);
    in_thread(free_medium);
    rest(10000);
    in_thread(free_long);
    free_all(own_long, kOwnLong);
    return 0;
}
