// expect: acre: free\(0x[0-9a-f]+\): (double free|not a live block)
// Freed twice by a pthread key's destructor, when the thread is going away.
#include "misuse.h"

static pthread_key_t key;

static void destructor(void *block) {
    free(block);
    free(hide(block));
}

static void *set_key(void *unused) {
    CHECK_EQ(pthread_setspecific(key, take(48)), 0);
    return unused;
}

int main(void) {
    CHECK_EQ(pthread_key_create(&key, destructor), 0);
    in_thread(set_key, NULL);
    return survived();
}
