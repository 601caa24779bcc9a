// acre-test: libs=pthread env=ACRE_CONF=hardened:true
// In the hardened mode a large block lies between two guard pages, the first block of a thread as well.
#include "check.h"

#include <pthread.h>

enum { kPage = 4096, kBlockBytes = 64 * kPage };

static int pipe_ends[2];

// The kernel refuses to read what the program may not read.
static int is_readable(const char *at) {
    const ssize_t written = write(pipe_ends[1], at, 1);
    char byte;
    CHECK(written == 1 ? read(pipe_ends[0], &byte, 1) == 1 : errno == EFAULT);
    return written == 1;
}

static void *check_block(void *unused) {
    char *block = must_malloc(kBlockBytes);
    CHECK(is_readable(block) && is_readable(block + kBlockBytes - 1));
    CHECK(!is_readable(block - 1) && !is_readable(block + kBlockBytes));
    free(block);
    return unused;
}

int main(void) {
    CHECK_EQ(pipe(pipe_ends), 0);
    if (sysconf(_SC_PAGESIZE) != kPage) check_skip("larger pages have no guards");
    check_block(NULL);
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, check_block, NULL), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    return 0;
}
