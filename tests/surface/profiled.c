// Blocks of every kind while each is a sample of the heap profile: contents, alignment, threads, fork.
// acre-test: libs=pthread env=ACRE_CONF=prof:true,prof_sample:0
#include "check.h"

#include <malloc.h>
#include <pthread.h>

static const size_t kSizes[] = {0, 1, 8, 24, 100, 1000, 1025, 5000, 32768, 32769, 100000};
enum { SIZES = sizeof kSizes / sizeof kSizes[0], KEPT = 64 };

static void use_all(uint64_t tag) {
    void *kept[KEPT] = {0};
    size_t size_of[KEPT] = {0};
    uint64_t state = tag;
    for (size_t i = 0; i < 1500; i++) {
        const size_t at = random_below(&state, KEPT), size = kSizes[random_below(&state, SIZES)];
        CHECK_EQ(pattern_length(kept[at], size_of[at], tag + at), size_of[at]);
        void *block = NULL;
        switch (random_below(&state, 4)) {
            case 0:
                free(kept[at]);
                block = must_malloc(size);
                break;
            case 1:
                free(kept[at]);
                block = hide(calloc(1, size));
                CHECK(block != NULL && all_bytes_are(block, size, 0));
                break;
            case 2:
                free(kept[at]);
                CHECK_EQ(posix_memalign(&block, 256, size), 0);
                CHECK(is_aligned(block, 256));
                break;
            default:
                block = hide(realloc(kept[at], size + 1));
                CHECK(block != NULL);
                CHECK_EQ(pattern_length(block, size < size_of[at] ? size : size_of[at], tag + at),
                         size < size_of[at] ? size : size_of[at]);
        }
        CHECK(malloc_usable_size(block) >= size);
        fill_pattern(block, size, tag + at);
        kept[at] = block;
        size_of[at] = size;
    }
    for (size_t at = 0; at < KEPT; at++) free(kept[at]);
}

static void *in_thread(void *tag) {
    use_all((uint64_t)(uintptr_t)tag);
    return NULL;
}

static void threads(void) {
    pthread_t thread[4];
    for (uintptr_t i = 0; i < 4; i++) CHECK_EQ(pthread_create(&thread[i], NULL, in_thread, (void *)(i * 1000 + 7)), 0);
    for (int i = 0; i < 4; i++) CHECK_EQ(pthread_join(thread[i], NULL), 0);
}

static void *forking(void *unused) {
    for (int i = 0; i < 5; i++) {
        const pid_t child = fork();
        if (child == 0) {
            use_all(3);
            _exit(0);
        }
        check_child(child, 0);
    }
    return unused;
}

int main(void) {
    use_all(1);
    threads();
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, forking, NULL), 0);
    threads();  // meanwhile
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}
