// acre-test: env=ACRE_CONF=mmap:false
// Without anonymous mappings all comes from the data segment, what would be a mapping of its own too.
#include "check.h"

#include <pthread.h>

static int is_in_segment(const void *block) { return (char *)block < (char *)sbrk(0) && (char *)block + (1ul << 40) > (char *)sbrk(0); }

static void *work(void *unused) {
    for (int i = 0; i < 20000; i++) {
        char *block = (char *)must_malloc(1 + (size_t)i % 3000);
        block[0] = 1;
        free(block);
    }
    return unused;
}

int main(void) {
    void *first = must_malloc(100);
    CHECK(is_in_segment(first));
    CHECK(is_in_segment(must_malloc(100000)));
    unsigned char *huge = (unsigned char *)hide(calloc(hide_size(100 * MIB), 1));
    CHECK(huge != NULL && is_in_segment(huge));
    CHECK(all_bytes_are(huge, 100 * MIB, 0));
    memset(huge, 5, 100 * MIB);
    huge = (unsigned char *)hide(realloc(huge, hide_size(150 * MIB)));
    CHECK(huge != NULL && huge[100 * MIB - 1] == 5);
    free(huge);
    // The program's own use of it is in nobody's way.
    char *own = (char *)sbrk(12345);
    CHECK(own != (char *)-1);
    memset(own, 7, 12345);
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_create(&threads[i], NULL, work, NULL), 0);
    for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
    memset(must_malloc(200 * MIB), 1, 200 * MIB);
    CHECK(all_bytes_are((unsigned char *)own, 12345, 7));
    return 0;
}
