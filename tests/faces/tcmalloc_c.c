// acre-test: libs=dl
// Every function of gperftools' malloc_extension_c.h, tcmalloc.h and nallocx.h, from C.
#include "tcmalloc.h"

#include <gperftools/malloc_extension_c.h>
#include <gperftools/nallocx.h>
#include <gperftools/tcmalloc.h>

static size_t property(const char *name) {
    size_t value = SIZE_MAX;
    if (!MallocExtension_GetNumericProperty(name, &value)) check_fail(__FILE__, __LINE__, name);
    return value;
}

static void check_one_heap(Owns owns) {
    for (size_t size = 1; size <= 100 * MIB; size = size * 3 + 1) {
        char *block = (char *)hide(tc_malloc(hide_size(size)));
        CHECK(block != NULL && owns(block));
        memset(block, 1, size);
        CHECK_EQ(MallocExtension_GetOwnership(block), MallocExtension_kOwned);
        CHECK_EQ(tc_malloc_size(block), malloc_usable_size(block));
        CHECK_EQ(tc_malloc_size(block), MallocExtension_GetAllocatedSize(block));
        CHECK_EQ(tc_malloc_size(block), MallocExtension_GetEstimatedAllocatedSize(size));
        CHECK_EQ(tc_malloc_size(block), nallocx(size, 0));
        CHECK_EQ(tc_malloc_size(block), tc_nallocx(size, 0));
        free(block);
        block = (char *)must_malloc(size);
        CHECK(owns(block));
        tc_free(block);
    }
    CHECK_EQ(nallocx(100, MALLOCX_LG_ALIGN(8)), 256);
    CHECK_EQ(nallocx(SIZE_MAX, 0), 0);
    CHECK_EQ(MallocExtension_GetAllocatedSize(NULL), 0);
    CHECK_EQ(MallocExtension_GetOwnership(NULL), MallocExtension_kNotOwned);
    CHECK_EQ(MallocExtension_GetOwnership(&owns), MallocExtension_kNotOwned);
}

static void check_each(void) {
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *block = (char *)hide(tc_calloc(hide_size(100), 7));
    CHECK(block != NULL && all_bytes_are(block, 700, 0));
    block = (char *)hide(tc_realloc(block, hide_size(70000)));
    CHECK(block != NULL && all_bytes_are(block, 700, 0));
    tc_free_sized(block, 70000);
    CHECK(tc_realloc(tc_malloc(10), 0) == NULL);
    block = (char *)hide(tc_memalign(64 * KIB, 10));
    CHECK(block != NULL && is_aligned(block, 64 * KIB));
    tc_cfree(block);
    void *out = NULL;
    CHECK_EQ(tc_posix_memalign(&out, 4096, 100), 0);
    CHECK(out != NULL && is_aligned(out, 4096));
    tc_free(out);
    CHECK_EQ(tc_posix_memalign(&out, 3, 100), EINVAL);
    CHECK_EQ(tc_posix_memalign(&out, 64, SIZE_MAX / 2), ENOMEM);
    block = (char *)hide(tc_valloc(10));
    CHECK(block != NULL && is_aligned(block, page));
    tc_free(block);
    block = (char *)hide(tc_pvalloc(page + 1));
    CHECK(block != NULL && is_aligned(block, page) && tc_malloc_size(block) >= 2 * page);
    tc_free(block);
    block = (char *)hide(tc_malloc_skip_new_handler(10));
    CHECK(block != NULL);
    tc_free(block);
    errno = 0;
    CHECK(hide(tc_malloc(hide_size(SIZE_MAX))) == NULL);
    CHECK_EQ(errno, ENOMEM);
    tc_free(NULL);
    tc_mallopt(0, 0);
    CHECK(tc_mallinfo().uordblks != 0);
    tc_malloc_stats();
    int major = 0, minor = 0;
    const char *patch = NULL;
    CHECK(strncmp(tc_version(&major, &minor, &patch), "gperftools 2.10", 15) == 0);
    CHECK(strstr(tc_version(NULL, NULL, NULL), "(acre ") != NULL);
    CHECK(major == 2 && minor == 10 && patch != NULL && *patch == '\0');
}

static void check_properties(void) {
    static const char *const names[] = {PROPERTIES_READ};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        property(names[i]);
        CHECK(!MallocExtension_SetNumericProperty(names[i], 0));
    }
    size_t value;
    CHECK(!MallocExtension_GetNumericProperty("tcmalloc.nonsense", &value));
    CHECK(!MallocExtension_SetNumericProperty("tcmalloc.nonsense", 0));
    CHECK(MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 12345678));
    CHECK_EQ(property("tcmalloc.max_total_thread_cache_bytes"), 12345678);
    CHECK(!MallocExtension_SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", SIZE_MAX));
    CHECK_EQ(property("tcmalloc.aggressive_memory_decommit"), 0);
    CHECK(MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 1));
    CHECK_EQ(property("tcmalloc.aggressive_memory_decommit"), 1);
    CHECK(MallocExtension_SetNumericProperty("tcmalloc.aggressive_memory_decommit", 0));
    CHECK_EQ(property("tcmalloc.aggressive_memory_decommit"), 0);
}

static void check_memory(void) {
    void *blocks[64];
    int before[kMallocExtensionHistogramSize], after[kMallocExtensionHistogramSize], count[2];
    size_t total[2];
    CHECK(MallocExtension_MallocMemoryStats(&count[0], &total[0], before));
    const size_t allocated = property("generic.current_allocated_bytes");
    for (int i = 0; i < 64; i++) blocks[i] = memset(must_malloc(MIB), 1, MIB);
    CHECK(MallocExtension_MallocMemoryStats(&count[1], &total[1], after));
    CHECK_EQ(after[20] - before[20], 64);
    CHECK_EQ(count[1] - count[0], 64);
    CHECK_EQ(total[1] - total[0], 64 * MIB);
    CHECK_EQ(property("generic.current_allocated_bytes") - allocated, 64 * MIB);
    for (int i = 0; i < 64; i++) free(blocks[i]);
    CHECK_EQ(property("generic.current_allocated_bytes"), allocated);
    const size_t unused = property("tcmalloc.pageheap_free_bytes");
    CHECK_GE(unused, 63 * MIB);  // a page of them may have become a run of small blocks
    MallocExtension_ReleaseToSystem(16 * MIB);
    CHECK_LE(property("tcmalloc.pageheap_free_bytes"), unused - 16 * MIB);
    CHECK_GE(property("tcmalloc.pageheap_free_bytes"), unused - 32 * MIB);
    MallocExtension_ReleaseFreeMemory();
    CHECK_EQ(property("tcmalloc.pageheap_free_bytes"), 0);
    CHECK_GE(property("tcmalloc.pageheap_unmapped_bytes"), 63 * MIB);
    CHECK_GE(property("tcmalloc.pageheap_total_decommit_bytes"), 63 * MIB);

    void *block = must_malloc(100);
    CHECK(MallocExtension_GetThreadCacheSize() != 0);
    MallocExtension_MarkThreadTemporarilyIdle();
    CHECK_EQ(MallocExtension_GetThreadCacheSize(), 0);
    MallocExtension_MarkThreadBusy();
    free(block);
    free(must_malloc(100));
    MallocExtension_MarkThreadIdle();
    CHECK_EQ(MallocExtension_GetThreadCacheSize(), 0);
}

static void check_verify(void) {
    int on_stack = 0;
    char *block = (char *)must_malloc(100);
    CHECK(MallocExtension_VerifyAllMemory());
    CHECK(MallocExtension_VerifyNewMemory(block) && !MallocExtension_VerifyNewMemory(&on_stack));
    CHECK(MallocExtension_VerifyArrayNewMemory(block) && !MallocExtension_VerifyArrayNewMemory(&on_stack));
    CHECK(MallocExtension_VerifyMallocMemory(block) && !MallocExtension_VerifyMallocMemory(block + 8));
    CHECK(MallocExtension_VerifyMallocMemory(NULL));
    free(block);
    CHECK(!MallocExtension_VerifyMallocMemory(block));
    char kept[8];  // a write after free, taken back before acre meets it
    memcpy(kept, hide(block), sizeof kept);
    memset(hide(block), 'x', sizeof kept);
    CHECK(!MallocExtension_VerifyAllMemory());
    memcpy(hide(block), kept, sizeof kept);
    CHECK(MallocExtension_VerifyAllMemory());
}

int main(void) {
    char text[4096];
    check_one_heap(find_owns());
    check_each();
    check_properties();
    check_memory();
    check_verify();
    memset(text, 'x', sizeof text);
    MallocExtension_GetStats(text, 10);
    CHECK_EQ(strlen(text), 9);
    MallocExtension_GetStats(text, sizeof text);
    CHECK(strstr(text, "Bytes in use by application\n") != NULL && strstr(text, "\nacre ") != NULL);
    return 0;
}
