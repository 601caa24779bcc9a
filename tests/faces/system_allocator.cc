// acre-test: libs=dl
// SysAllocator: where TCMalloc's memory comes from, if a program gives it some of its own.
#include "tcmalloc.h"

#include <gperftools/malloc_extension.h>
#include <sys/mman.h>

#include <vector>

static MallocExtension& tcmalloc() { return *MallocExtension::instance(); }

static size_t property(const char* name) {
    size_t value = SIZE_MAX;
    if (!tcmalloc().GetNumericProperty(name, &value)) check_fail(__FILE__, __LINE__, name);
    return value;
}

// Gives parts of one shared mapping, in which a purge changes nothing.
class Pool : public SysAllocator {
 public:
    explicit Pool(size_t bytes) : bytes_(bytes) {
        start_ = static_cast<char*>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
        CHECK(start_ != MAP_FAILED);
        memset(start_, 0x77, bytes);
    }
    void* Alloc(size_t size, size_t* actual_size, size_t alignment) override {
        ++calls;
        const size_t at = (reinterpret_cast<uintptr_t>(start_) + used_ + alignment - 1) / alignment * alignment -
                          reinterpret_cast<uintptr_t>(start_);
        if (at + size > bytes_) return nullptr;
        used_ = at + size;
        *actual_size = size;
        return start_ + at;
    }
    bool has(const void* block) const {
        return reinterpret_cast<uintptr_t>(block) - reinterpret_cast<uintptr_t>(start_) < bytes_;
    }
    int calls = 0;

 private:
    char* start_;
    size_t bytes_;
    size_t used_ = 0;
};

// Counts, and falls back on what there was.
class Counting : public SysAllocator {
 public:
    explicit Counting(SysAllocator* before) : before_(before) {}
    void* Alloc(size_t size, size_t* actual_size, size_t alignment) override {
        void* const memory = before_->Alloc(size, actual_size, alignment);
        bytes += memory == nullptr ? 0 : *actual_size;
        return memory;
    }
    size_t bytes = 0;

 private:
    SysAllocator* before_;
};

static void check_pool(SysAllocator* before) {
    static Pool pool(200 * MIB);
    tcmalloc().SetSystemAllocator(&pool);
    CHECK(tcmalloc().GetSystemAllocator() == &pool);
    std::vector<char*> blocks;
    blocks.reserve(100000);
    while (blocks.empty() || !pool.has(blocks.back())) blocks.push_back(static_cast<char*>(must_malloc(30000)));
    CHECK(pool.calls >= 1);
    char* const large = static_cast<char*>(calloc(90 * MIB, 1));
    CHECK(large != nullptr && pool.has(large));
    CHECK(all_bytes_are(large, 90 * MIB, 0));
    memset(large, 0x55, 90 * MIB);
    free(large);
    tcmalloc().ReleaseFreeMemory();
    char* const again = static_cast<char*>(calloc(90 * MIB, 1));
    CHECK(again != nullptr && all_bytes_are(again, 90 * MIB, 0));
    CHECK(hide(malloc(150 * MIB)) == nullptr && errno == ENOMEM);
    free(again);
    for (char* block : blocks) free(block);
    tcmalloc().SetSystemAllocator(before);
    char* const other = static_cast<char*>(must_malloc(150 * MIB));
    CHECK(!pool.has(other));
    free(other);
}

static void check_fall_back(SysAllocator* before) {
    static Counting counting(before);
    tcmalloc().SetSystemAllocator(&counting);
    char* const block = static_cast<char*>(must_malloc(300 * MIB));
    memset(block, 1, 300 * MIB);
    CHECK_GE(counting.bytes, 300 * MIB);
    free(block);
    const size_t resident = resident_bytes();
    tcmalloc().ReleaseFreeMemory();
    CHECK_LE(resident_bytes(), resident - 290 * MIB);
    tcmalloc().SetSystemAllocator(before);
}

int main() {
    SysAllocator* const before = tcmalloc().GetSystemAllocator();
    CHECK(before != nullptr);
    size_t actual = 0;
    char* const memory = static_cast<char*>(before->Alloc(3 * MIB, &actual, 4 * MIB));
    CHECK(memory != nullptr && is_aligned(memory, 4 * MIB));
    CHECK_GE(actual, 3 * MIB);
    memset(memory, 1, actual);
    check_pool(before);
    check_fall_back(before);
    CHECK_GE(property("generic.heap_size"), 390 * MIB);
    return 0;
}
