// acre-test: not-preload
// acre-test: env=TCMALLOC_RELEASE_RATE=4 env=TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=1048576
// acre-test: env=ACRE_CONF=thread_cache_max:2M
// The functions of acre/tcmalloc.h link, without a C++ library, and know what TCMalloc's variables say.
#include "check.h"

#include <acre/tcmalloc.h>

static void count_list(void *opaque, size_t least, size_t most, size_t bytes, const char *type) {
    CHECK(least <= most && bytes != 0 && strncmp(type, "tcmalloc.", 9) == 0);
    ++*(int *)opaque;
}

static void count_range(void *opaque, uintptr_t start, size_t bytes, int kind, double fraction) {
    CHECK(start != 0 && bytes != 0 && kind >= 0 && kind <= 2 && fraction <= 1);
    ++*(int *)opaque;
}

int main(void) {
    CHECK(acre_get_release_rate() == 4);
    size_t value = 0, blocks = 0, bytes = 0, by_size[ACRE_BLOCK_SIZES];
    CHECK(acre_get_property("tcmalloc.max_total_thread_cache_bytes", &value));
    CHECK_EQ(value, 2 * MIB);
    CHECK(acre_set_property("tcmalloc.max_total_thread_cache_bytes", MIB));
    CHECK_EQ(acre_set_release_rate(1), 0);

    int lists = 0, ranges = 0;
    char *block = (char *)must_malloc(MIB);
    memset(block, 1, MIB);
    acre_block_sizes(&blocks, &bytes, by_size);
    CHECK(blocks != 0 && bytes >= MIB && by_size[20] == 1);
    CHECK_EQ(acre_nallocx(MIB, 0), MIB);
    free(block);
    free(must_malloc(100));
    CHECK(acre_verify_memory());
    acre_free_lists(count_list, &lists);
    acre_ranges(count_range, &ranges);
    CHECK(lists != 0 && ranges != 0);
    CHECK(acre_thread_cache_bytes() != 0);
    CHECK_EQ(acre_mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
    CHECK_EQ(acre_thread_cache_bytes(), 0);
    CHECK_GE(acre_release_memory(SIZE_MAX), MIB);
    return 0;
}
