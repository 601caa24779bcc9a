// acre-test: not-preload not-hardened env=ACRE_CONF=background_thread:true
// The C library frees while it holds the lock that it takes to make a thread: acre makes its own threads elsewhere.
#include "check.h"

#include <pthread.h>

enum { kThreads = 16000 };  // without the fix, one of the first 8000 hangs
static char stack[256 * KIB] __attribute__((aligned(4096)));

static void *nothing(void *unused) { return unused; }

int main(void) {
    alarm(60);
    pthread_attr_t attributes;
    CHECK_EQ(pthread_attr_init(&attributes), 0);
    CHECK_EQ(pthread_attr_setstack(&attributes, stack, sizeof stack), 0);
    for (int i = 0; i < kThreads; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, &attributes, nothing, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return 0;
}
