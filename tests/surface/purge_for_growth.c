// acre-test: libs=pthread
// acre-test: not-hardened
// Dirty pages that another thread has left in pieces too short for a large block are purged, so that the process does not
// grow by the block.
// In the hardened mode it depends on time which freed large blocks keep their memory.
#include "check.h"

#include <pthread.h>

enum { kBlocks = 640, kLarge = 12 };
static const size_t kBytes = 100 * KIB;

static void *leave_pieces(void *blocks_of_main) {
    void **blocks = (void **)blocks_of_main;
    for (int i = 0; i < kBlocks; i++) {
        blocks[i] = must_malloc(kBytes);
        memset(blocks[i], 1, kBytes);
    }
    for (int i = 0; i < kBlocks; i += 2) free(blocks[i]);
    return NULL;
}

int main(void) {
    without_huge_pages();
    static void *blocks[kBlocks];
    void *large[kLarge];
    free(must_malloc(1));  // so that the other thread is not the first
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, leave_pieces, blocks), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    const size_t before = resident_bytes();
    for (int i = 0; i < kLarge; i++) {
        large[i] = must_malloc(MIB);
        memset(large[i], 1, MIB);
    }
    CHECK_LE(resident_bytes(), before + 4 * MIB);
    for (int i = 0; i < kLarge; i++) free(large[i]);
    for (int i = 1; i < kBlocks; i += 2) free(blocks[i]);
    return 0;
}
