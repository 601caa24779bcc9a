// acre-test: libs=dl
// Every function of gperftools' malloc_extension.h, and of tcmalloc.h those for C++.
#include "tcmalloc.h"

#include <gperftools/malloc_extension.h>
#include <gperftools/malloc_extension_c.h>
#include <gperftools/tcmalloc.h>

#include <memory>
#include <new>
#include <string>
#include <typeinfo>
#include <vector>

extern "C" int tc_query_new_mode() noexcept;  // gperftools exports it and declares it nowhere

static MallocExtension& tcmalloc() { return *MallocExtension::instance(); }

static size_t property(const char* name) {
    size_t value = SIZE_MAX;
    if (!tcmalloc().GetNumericProperty(name, &value)) check_fail(__FILE__, __LINE__, name);
    return value;
}

static void check_blocks() {
    const Owns owns = find_owns();
    std::unique_ptr<int> object(new int(5));
    CHECK(owns(object.get()) && tcmalloc().GetOwnership(object.get()) == MallocExtension::kOwned);
    CHECK_EQ(tcmalloc().GetOwnership(&owns), MallocExtension::kNotOwned);
    CHECK_EQ(tcmalloc().GetOwnership(nullptr), MallocExtension::kNotOwned);
    CHECK(tcmalloc().VerifyNewMemory(object.get()) && !tcmalloc().VerifyNewMemory(&owns));
    CHECK(tcmalloc().VerifyArrayNewMemory(nullptr) && !tcmalloc().VerifyArrayNewMemory(&owns));
    CHECK(tcmalloc().VerifyMallocMemory(object.get()) && !tcmalloc().VerifyMallocMemory(&owns));
    CHECK(tcmalloc().VerifyAllMemory());
    for (size_t size = 0; size < 200 * MIB; size = size * 2 + 1) {
        void* block = must_malloc(size);
        CHECK_EQ(tcmalloc().GetEstimatedAllocatedSize(size), tcmalloc().GetAllocatedSize(block));
        CHECK_GE(tcmalloc().GetAllocatedSize(block), size);
        free(block);
    }
    CHECK_EQ(tcmalloc().GetAllocatedSize(nullptr), 0);
}

// Of one moment: nothing allocates in between.
static void check_properties() {
    const size_t parts = property("generic.current_allocated_bytes") + property("tcmalloc.central_cache_free_bytes") +
                         property("tcmalloc.transfer_cache_free_bytes") +
                         property("tcmalloc.thread_cache_free_bytes") + property("tcmalloc.slack_bytes");
    CHECK_EQ(property("generic.heap_size"), parts);
    CHECK_EQ(property("tcmalloc.slack_bytes"),
             property("tcmalloc.pageheap_free_bytes") + property("tcmalloc.pageheap_unmapped_bytes"));
    CHECK_EQ(property("tcmalloc.pageheap_committed_bytes"),
             property("generic.heap_size") - property("tcmalloc.pageheap_unmapped_bytes"));
    CHECK_GE(property("generic.total_physical_bytes"), property("tcmalloc.pageheap_committed_bytes"));
    CHECK_EQ(property("tcmalloc.impl.thread_cache_count"), 1);
    CHECK(tcmalloc().SetNumericProperty("tcmalloc.max_total_thread_cache_bytes", 32 * MIB));
    CHECK_EQ(property("tcmalloc.max_total_thread_cache_bytes"), 32 * MIB);
    CHECK(!tcmalloc().SetNumericProperty("generic.heap_size", 1));
    CHECK(tcmalloc().SetNumericProperty("tcmalloc.min_per_thread_cache_bytes", MIB));
    CHECK_EQ(property("tcmalloc.min_per_thread_cache_bytes"), MIB);
    CHECK(tcmalloc().SetNumericProperty("tcmalloc.min_per_thread_cache_bytes", 0));
}

static void check_release() {
    const double rates[] = {2, 0.5, 10, 0.1, 0, 1};
    CHECK(tcmalloc().GetMemoryReleaseRate() == 1);
    for (double rate : rates) {
        tcmalloc().SetMemoryReleaseRate(rate);
        CHECK(tcmalloc().GetMemoryReleaseRate() == rate);
    }
    tcmalloc().SetMemoryReleaseRate(-1);
    CHECK(tcmalloc().GetMemoryReleaseRate() == 1);

    free(memset(must_malloc(32 * MIB), 1, 32 * MIB));
    const size_t unused = property("tcmalloc.pageheap_free_bytes");
    const size_t resident = resident_bytes();
    CHECK_GE(unused, 32 * MIB);
    tcmalloc().ReleaseToSystem(8 * MIB);
    CHECK_EQ(property("tcmalloc.pageheap_free_bytes"), unused - 8 * MIB);
    tcmalloc().ReleaseFreeMemory();
    CHECK_EQ(property("tcmalloc.pageheap_free_bytes"), 0);
    CHECK_LE(resident_bytes(), resident - 30 * MIB);
}

static void check_idle() {
    free(must_malloc(48));
    CHECK(tcmalloc().GetThreadCacheSize() != 0);
    tcmalloc().MarkThreadIdle();
    CHECK_EQ(tcmalloc().GetThreadCacheSize(), 0);
    tcmalloc().MarkThreadBusy();
    free(must_malloc(48));
    CHECK(tcmalloc().GetThreadCacheSize() != 0);
    tcmalloc().MarkThreadTemporarilyIdle();
    CHECK_EQ(tcmalloc().GetThreadCacheSize(), 0);
}

struct Looked {
    const void* block;
    size_t bytes;
    bool found;
};

static void look(void* opaque, const base::MallocRange* range) {
    auto* looked = static_cast<Looked*>(opaque);
    looked->bytes += range->length;
    CHECK(range->fraction >= 0 && range->fraction <= 1);
    if (reinterpret_cast<uintptr_t>(looked->block) - range->address >= range->length) return;
    looked->found = range->type == base::MallocRange::INUSE && range->fraction == 1;
}

static void check_lists() {
    void* block = must_malloc(MIB);
    Looked looked = {block, 0, false};
    tcmalloc().Ranges(&looked, look);
    CHECK(looked.found);
    CHECK_EQ(looked.bytes, property("generic.heap_size"));
    free(memset(block, 1, MIB));
    free(must_malloc(100));

    std::vector<MallocExtension::FreeListInfo> lists;
    lists.reserve(4096);
    tcmalloc().GetFreeListSizes(&lists);
    size_t thread = 0, pages = 0, unmapped = 0;
    for (const MallocExtension::FreeListInfo& list : lists) {
        CHECK(list.min_object_size >= 1 && list.min_object_size <= list.max_object_size && list.total_bytes_free != 0);
        const auto is = [&](const char* type) { return strcmp(list.type, type) == 0; };
        if (is("tcmalloc.thread")) thread += list.total_bytes_free;
        if (is("tcmalloc.page") || is("tcmalloc.large")) pages += list.total_bytes_free;
        if (is("tcmalloc.page_unmapped") || is("tcmalloc.large_unmapped")) unmapped += list.total_bytes_free;
    }
    CHECK_EQ(thread, property("tcmalloc.thread_cache_free_bytes"));
    CHECK_EQ(pages, property("tcmalloc.pageheap_free_bytes"));
    CHECK_EQ(unmapped, property("tcmalloc.pageheap_unmapped_bytes"));

    int blocks[2], histogram[2][kMallocHistogramSize];
    size_t total[2];
    CHECK(tcmalloc().MallocMemoryStats(&blocks[0], &total[0], histogram[0]));
    block = must_malloc(3 * MIB);
    CHECK(tcmalloc().MallocMemoryStats(&blocks[1], &total[1], histogram[1]));
    CHECK_EQ(total[1] - total[0], 3 * MIB);
    CHECK_EQ(blocks[1] - blocks[0], 1);
    CHECK_EQ(histogram[1][21] - histogram[0][21], 1);
    free(block);
}

static void check_texts() {
    char text[8192];
    tcmalloc().GetStats(text, sizeof text);
    CHECK(strncmp(text, "MALLOC: ", 8) == 0 && strstr(text, "\nacre ") != nullptr);
    tcmalloc().GetStats(text, 1);
    CHECK_EQ(strlen(text), 0);
    const char* heads[] = {"heap profile:      0:        0 [     0:        0] @ heap_v2/0\n",
                           "heap profile:      0:        0 [     0:        0] @ growth\n"};
    std::string profiles[2];
    tcmalloc().GetHeapSample(&profiles[0]);
    tcmalloc().GetHeapGrowthStacks(&profiles[1]);
    for (int i = 0; i < 2; i++) {
        CHECK(profiles[i].find(heads[i]) != std::string::npos);
        CHECK(profiles[i].find("\nMAPPED_LIBRARIES:\n") != std::string::npos);
        CHECK(profiles[i].find("libacre.so") != std::string::npos);
    }
    int period = -1;
    CHECK(tcmalloc().ReadStackTraces(&period) == nullptr && period == 0);
    CHECK(tcmalloc().ReadHeapGrowthStackTraces() == nullptr);
}

// A program's own extension, which leaves most to the class it is derived from.
class Own : public MallocExtension {
 public:
    bool GetNumericProperty(const char*, size_t* value) override {
        *value = 42;
        return true;
    }
    void** ReadStackTraces(int* sample_period) override {
        *sample_period = 512;
        return new void*[9]{at(3), at(300), at(2), at(0x1000), at(0x2000), at(1), at(7), at(0), at(0)};
    }
    void** ReadHeapGrowthStackTraces() override { return new void*[5]{at(1), at(1048576), at(1), at(0xabc), at(0)}; }

 private:
    static void* at(uintptr_t n) { return reinterpret_cast<void*>(n); }
};

static void check_own() {
    Own own;
    MallocExtension* const before = &tcmalloc();
    CHECK(dynamic_cast<Own*>(before) == nullptr && typeid(*before) != typeid(MallocExtension));
    MallocExtension::Initialize();
    MallocExtension::Register(&own);
    CHECK(MallocExtension::instance() == &own);
    size_t value = 0;
    CHECK(MallocExtension_GetNumericProperty("anything", &value) && value == 42);
    std::string text;
    own.GetHeapSample(&text);
    CHECK(text.find("heap profile:      4:      307 [     4:      307] @ heap_v2/512\n"
                    "     3:      300 [     3:      300] @ 0x1000 0x2000\n"
                    "     1:        7 [     1:        7] @\n\nMAPPED_LIBRARIES:\n") == 0);
    text = "kept ";
    own.GetHeapGrowthStacks(&text);
    CHECK(text.find("kept heap profile:      1:  1048576 [     1:  1048576] @ growth\n"
                    "     1:  1048576 [     1:  1048576] @ 0xabc\n\nMAPPED_LIBRARIES:\n") == 0);

    int blocks = -1, histogram[kMallocHistogramSize];
    char stats[10] = "xxx";
    CHECK(own.VerifyAllMemory() && own.VerifyMallocMemory(&own));
    CHECK(own.MallocMemoryStats(&blocks, &value, histogram) && blocks == 0 && value == 0 && histogram[63] == 0);
    own.GetStats(stats, sizeof stats);
    CHECK_EQ(stats[0], 0);
    CHECK(!own.SetNumericProperty("generic.heap_size", 0) && own.GetMemoryReleaseRate() < 0);
    CHECK_EQ(own.GetEstimatedAllocatedSize(100), 100);
    CHECK_EQ(own.GetAllocatedSize(&own) + own.GetThreadCacheSize(), 0);
    CHECK_EQ(own.GetOwnership(&own), MallocExtension::kUnknownOwnership);
    std::vector<MallocExtension::FreeListInfo> lists(1);
    own.GetFreeListSizes(&lists);
    CHECK(lists.empty());
    own.MarkThreadIdle();
    own.MarkThreadBusy();
    own.MarkThreadTemporarilyIdle();
    own.ReleaseToSystem(1);
    own.ReleaseFreeMemory();
    own.SetMemoryReleaseRate(1);
    own.Ranges(nullptr, look);
    MallocExtension::Register(before);
    CHECK(MallocExtension::instance() == before);
}

static int handler_calls;
static void handler() {
    if (++handler_calls % 3 == 0) std::set_new_handler(nullptr);
}
static void throwing_handler() {
    ++handler_calls;
    throw std::bad_alloc();
}

template <class Allocate>
static bool throws(Allocate allocate) {
    try {
        hide(allocate());
        return false;
    } catch (const std::bad_alloc&) {
        return true;
    }
}

// Later than the gperftools that the program may be linked with.
static void check_aligned_sized() {
    void* const symbol = dlsym(RTLD_DEFAULT, "tc_free_aligned_sized");
    CHECK(symbol != nullptr);
    const auto free_aligned_sized = reinterpret_cast<void (*)(void*, size_t, size_t)>(symbol);
    void* const block = tc_memalign(256, 1000);
    CHECK(is_aligned(block, 256));
    free_aligned_sized(block, 256, 1000);
    CHECK_EQ(tcmalloc().GetOwnership(block), MallocExtension::kNotOwned);
}

static void check_operators() {
    const size_t impossible = hide_size(SIZE_MAX / 2);
    const auto wide = std::align_val_t(256);
    tc_delete(hide(tc_new(10)));
    tc_delete_sized(hide(tc_new(10)), 10);
    tc_delete_nothrow(hide(tc_new_nothrow(10, std::nothrow)), std::nothrow);
    tc_deletearray(hide(tc_newarray(10)));
    tc_deletearray_sized(hide(tc_newarray(10)), 10);
    tc_deletearray_nothrow(hide(tc_newarray_nothrow(10, std::nothrow)), std::nothrow);
    CHECK(is_aligned(tc_new_aligned(10, wide), 256) && is_aligned(tc_newarray_aligned(10, wide), 256));
    tc_delete_aligned(hide(tc_new_aligned(10, wide)), wide);
    tc_delete_sized_aligned(hide(tc_new_aligned(10, wide)), 10, wide);
    tc_delete_aligned_nothrow(hide(tc_new_aligned_nothrow(10, wide, std::nothrow)), wide, std::nothrow);
    tc_deletearray_aligned(hide(tc_newarray_aligned(10, wide)), wide);
    tc_deletearray_sized_aligned(hide(tc_newarray_aligned(10, wide)), 10, wide);
    tc_deletearray_aligned_nothrow(hide(tc_newarray_aligned_nothrow(10, wide, std::nothrow)), wide, std::nothrow);
    delete static_cast<char*>(tc_new(1));
    tc_delete(new char);

    CHECK(throws([=] { return tc_new(impossible); }) && throws([=] { return tc_newarray(impossible); }));
    CHECK(throws([=] { return tc_new_aligned(impossible, wide); }));
    CHECK(throws([=] { return tc_newarray_aligned(impossible, wide); }));
    CHECK(tc_new_nothrow(impossible, std::nothrow) == nullptr);
    CHECK(tc_newarray_nothrow(impossible, std::nothrow) == nullptr);
    CHECK(tc_new_aligned_nothrow(impossible, wide, std::nothrow) == nullptr);
    CHECK(tc_newarray_aligned_nothrow(impossible, wide, std::nothrow) == nullptr);
    std::set_new_handler(handler);
    CHECK(throws([=] { return tc_new(impossible); }) && handler_calls == 3);
    std::set_new_handler(throwing_handler);
    CHECK(tc_new_nothrow(impossible, std::nothrow) == nullptr && handler_calls == 4);
}

// A handler that makes room: malloc goes on with what it was asked for, for a small block as well.
static void raise_limit() {
    ++handler_calls;
    CHECK(tcmalloc().SetNumericProperty("tcmalloc.heap_limit_mb", 0));
}

static void check_small_blocks() {
    std::vector<void*> blocks;
    blocks.reserve(1 << 20);
    CHECK(tcmalloc().SetNumericProperty("tcmalloc.heap_limit_mb", property("generic.heap_size") / MIB + 10));
    handler_calls = 0;
    while (handler_calls == 0) {
        blocks.push_back(malloc(3000));
        CHECK(blocks.back() != nullptr);
    }
    CHECK_EQ(handler_calls, 1);
    for (void* block : blocks) free(block);
}

static void check_new_mode() {
    const size_t impossible = hide_size(SIZE_MAX / 2);
    void* out = nullptr;
    std::set_new_handler(throwing_handler);
    handler_calls = 0;
    CHECK(hide(tc_malloc(impossible)) == nullptr && handler_calls == 0);
    CHECK_EQ(tc_set_new_mode(1), 0);
    CHECK_EQ(tc_query_new_mode(), 1);
    CHECK(hide(tc_malloc(impossible)) == nullptr && handler_calls == 1 && errno == ENOMEM);
    CHECK(hide(tc_calloc(impossible, 1)) == nullptr && handler_calls == 2);
    CHECK(hide(tc_realloc(nullptr, impossible)) == nullptr && handler_calls == 3);
    CHECK(hide(tc_memalign(64, impossible)) == nullptr && handler_calls == 4);
    CHECK(tc_posix_memalign(&out, 64, impossible) == ENOMEM && handler_calls == 5);
    CHECK(hide(tc_valloc(impossible)) == nullptr && handler_calls == 6);
    CHECK(hide(tc_pvalloc(impossible)) == nullptr && handler_calls == 7);
    CHECK(hide(tc_malloc_skip_new_handler(impossible)) == nullptr && handler_calls == 7);
    CHECK(tc_posix_memalign(&out, 3, 1) == EINVAL && handler_calls == 7);
    CHECK(tc_realloc(tc_malloc(10), 0) == nullptr && handler_calls == 7);

    errno = 0;
    CHECK(hide(malloc(impossible)) == nullptr && handler_calls == 8 && errno == ENOMEM);
    CHECK(hide(calloc(impossible, 1)) == nullptr && handler_calls == 9);
    CHECK(hide(realloc(nullptr, impossible)) == nullptr && handler_calls == 10);
    CHECK(hide(aligned_alloc(64, impossible)) == nullptr && handler_calls == 11);
    CHECK(posix_memalign(&out, 64, impossible) == ENOMEM && handler_calls == 12);
    char* const kept = static_cast<char*>(malloc(10));
    CHECK(hide(realloc(kept, impossible)) == nullptr && handler_calls == 13);
    free(kept);
    CHECK(throws([=] { return operator new(impossible); }) && handler_calls == 14);
    CHECK(operator new(impossible, std::nothrow) == nullptr && handler_calls == 15);
    CHECK(throws([=] { return tc_new(impossible); }) && handler_calls == 16);
    CHECK(tc_new_nothrow(impossible, std::nothrow) == nullptr && handler_calls == 17);
    std::set_new_handler(handler);
    handler_calls = 0;
    CHECK(hide(tc_malloc(impossible)) == nullptr && handler_calls == 3);
    std::set_new_handler(handler);
    CHECK(hide(malloc(impossible)) == nullptr && handler_calls == 6);
    std::set_new_handler(raise_limit);
    check_small_blocks();
    CHECK_EQ(tc_set_new_mode(0), 1);
    std::set_new_handler(throwing_handler);
    handler_calls = 0;
    CHECK(hide(malloc(impossible)) == nullptr && handler_calls == 0);
}

int main() {
    check_blocks();
    check_properties();
    check_release();
    check_idle();
    check_lists();
    check_texts();
    check_own();
    check_aligned_sized();
    check_operators();
    check_new_mode();
    return 0;
}
