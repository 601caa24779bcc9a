// acre-test: not-preload
// Heaps: acre_heap_*.
#include "check.h"

#include <acre/acre.h>
#include <acre/heap.h>

static void use(acre_heap_t *heap) {
    char *text = (char *)hide(acre_heap_malloc(heap, 100));
    CHECK(text != NULL);
    strcpy(text, "text");
    CHECK(acre_heap_of(text) == heap);
    unsigned char *zeroes = (unsigned char *)hide(acre_heap_calloc(heap, 1000, 100));
    CHECK(zeroes != NULL);
    for (size_t i = 0; i < 100000; i++) CHECK_EQ(zeroes[i], 0);
    memset(zeroes, 1, 100000);
    void *aligned = hide(acre_heap_aligned_alloc(heap, 4096, 10));
    CHECK(aligned != NULL && (uintptr_t)aligned % 4096 == 0);
    text = (char *)hide(acre_heap_realloc(heap, text, 50000));
    CHECK(strcmp(text, "text") == 0 && acre_heap_of(text) == heap);
    CHECK(acre_heap_bytes(heap) >= 150000);
    acre_free(text);
    acre_free(aligned);
}

static void count_call(acre_heap_t *heap, size_t bytes, void *calls_so_far) {
    CHECK_EQ(acre_heap_bytes(heap), bytes);
    CHECK_GE(bytes, 2 * MIB);
    ++*(int *)calls_so_far;
}

// The function is called beyond the soft limit, and before a request is refused.
static void soft_limit(void) {
    int calls = 0;
    const struct acre_heap_settings settings = {
        .limit = 4 * MIB, .soft_limit = 2 * MIB, .on_soft_limit = count_call, .argument = &calls};
    acre_heap_t *heap = acre_heap_create(&settings);
    CHECK(hide(acre_heap_malloc(heap, MIB)) != NULL);
    CHECK_EQ(calls, 0);
    CHECK(hide(acre_heap_malloc(heap, 3 * MIB / 2)) != NULL);
    CHECK_EQ(calls, 1);
    CHECK(hide(acre_heap_malloc(heap, 3 * MIB)) == NULL);
    CHECK_EQ(calls, 2);
    acre_heap_destroy(heap);
}

int main(void) {
    free(must_malloc(1));
    soft_limit();
    for (int round = 0; round < 100; round++) {
        acre_heap_t *heap = acre_heap_create(NULL);
        CHECK(heap != NULL);
        CHECK_EQ(acre_heap_bytes(heap), 0);
        use(heap);
        acre_heap_reset(heap);
        CHECK_EQ(acre_heap_bytes(heap), 0);
        use(heap);
        acre_heap_destroy(heap);
    }

    const struct acre_heap_settings small = {.name = "small", .limit = 4 * MIB, .dirty_decay_ms = ACRE_DECAY_AT_ONCE};
    acre_heap_t *heap = acre_heap_create(&small);
    size_t blocks = 0;
    while (hide(acre_heap_malloc(heap, 1000)) != NULL) blocks++;
    CHECK_EQ(errno, ENOMEM);
    CHECK_GE(blocks, 3000);
    CHECK_LE(blocks, 4200);
    CHECK_LE(acre_heap_bytes(heap), 4 * MIB);
    errno = 0;
    CHECK(acre_heap_calloc(heap, (size_t)-1, 16) == NULL);
    CHECK_EQ(errno, ENOMEM);
    CHECK(acre_heap_aligned_alloc(heap, 3, 16) == NULL);
    CHECK_EQ(errno, EINVAL);

    // From one heap into another, and from none.
    acre_heap_t *other = acre_heap_create(NULL);
    char *text = (char *)hide(acre_heap_malloc(other, 10));
    acre_heap_reset(heap);
    strcpy(text, "moves");
    text = (char *)hide(acre_heap_realloc(heap, text, 20));
    CHECK(acre_heap_of(text) == heap && strcmp(text, "moves") == 0);
    acre_heap_destroy(other);
    void *plain = must_malloc(10);
    CHECK(acre_heap_of(plain) == NULL);
    CHECK(acre_heap_of(heap) == NULL);
    plain = hide(acre_heap_realloc(heap, plain, 20));
    CHECK(acre_heap_of(plain) == heap);
    CHECK(acre_heap_realloc(heap, plain, 0) == NULL);
    acre_heap_destroy(heap);

    const struct acre_heap_settings nowhere = {.file = "/no/such/folder"};
    errno = 0;
    CHECK(acre_heap_create(&nowhere) == NULL);
    CHECK_EQ(errno, ENODEV);
    const struct acre_heap_settings in_file = {.file = "/tmp"};
    heap = acre_heap_create(&in_file);
    CHECK(heap != NULL);
    use(heap);
    acre_heap_destroy(heap);
    return 0;
}
