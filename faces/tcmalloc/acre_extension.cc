#include "faces/tcmalloc/acre_extension.h"

#include <acre/tcmalloc.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <vector>

namespace {

int as_int(size_t n) { return static_cast<int>(std::min<size_t>(n, INT_MAX)); }

size_t property(const char* name) {
  size_t value = 0;
  acre_get_property(name, &value);
  return value;
}

// Text for a buffer of the caller's, cut off where that ends.
class Cut {
 public:
  Cut(char* buffer, size_t size) : at_(buffer), left_(size) { *at_ = '\0'; }

  void add(const char* text) {
    const size_t size = std::min(strlen(text), left_ - 1);
    memcpy(at_, text, size);
    at_ += size;
    *at_ = '\0';
    left_ -= size;
  }
  // One of the lines that TCMalloc's statistics begin with, which programs look for.
  void line(char sign, size_t bytes, const char* what) {
    char text[120];
    snprintf(text, sizeof text, "MALLOC: %c %12zu (%7.1f MiB) %s\n", sign, bytes,
             static_cast<double>(bytes) / (1 << 20), what);
    add(text);
  }

 private:
  char* at_;
  size_t left_;
};

void add_statistics(Cut& text) {
  const size_t physical = property("generic.total_physical_bytes");
  const size_t unmapped = property("tcmalloc.pageheap_unmapped_bytes");
  const size_t metadata = physical - std::min(physical, property("tcmalloc.pageheap_committed_bytes"));
  text.line(' ', property("generic.current_allocated_bytes"), "Bytes in use by application");
  text.line('+', property("tcmalloc.pageheap_free_bytes"), "Bytes in page heap freelist");
  text.line('+', property("tcmalloc.central_cache_free_bytes"), "Bytes in central cache freelist");
  text.line('+', property("tcmalloc.transfer_cache_free_bytes"), "Bytes in transfer cache freelist");
  text.line('+', property("tcmalloc.thread_cache_free_bytes"), "Bytes in thread cache freelists");
  text.line('+', metadata, "Bytes in malloc metadata");
  text.line('=', physical, "Actual memory used (physical + swap)");
  text.line('+', unmapped, "Bytes released to OS (aka unmapped)");
  text.line('=', physical + unmapped, "Virtual address space used");
}

// The stacks of the heap profile as MallocExtension gives them; null: there is no profile.
void** read_stacks(int of, int* period) {
  std::vector<void*> entries;
  const size_t mean = acre_profile_stacks(
      of,
      [](void* to, size_t blocks, size_t bytes, const uintptr_t* frames, unsigned depth) {
        auto& all = *static_cast<std::vector<void*>*>(to);
        for (uintptr_t number : {blocks, bytes, size_t{depth}}) all.push_back(reinterpret_cast<void*>(number));
        for (unsigned i = 0; i < depth; ++i) all.push_back(reinterpret_cast<void*>(frames[i]));
      },
      &entries);
  if (period != nullptr) *period = as_int(mean);
  if (mean == 0) return nullptr;
  void** copy = new void*[entries.size() + 1];
  std::copy(entries.begin(), entries.end(), copy);
  copy[entries.size()] = nullptr;
  return copy;
}

// What acre takes from the system itself, for allocators of programs that fall back on it.
class SystemMemory final : public SysAllocator {
 public:
  void* Alloc(size_t size, size_t* actual_size, size_t alignment) override {
    return acre_system_allocate(size, actual_size, alignment);
  }
};

SysAllocator* system_memory() {
  alignas(SystemMemory) static char place[sizeof(SystemMemory)];
  static SysAllocator* const memory = new (place) SystemMemory;
  return memory;
}

std::atomic<SysAllocator*> system_allocator{nullptr};  // null: system_memory()

class AcreExtension final : public MallocExtension {
 public:
  bool VerifyAllMemory() override { return acre_verify_memory() != 0; }
  bool VerifyNewMemory(const void* p) override { return VerifyMallocMemory(p); }
  bool VerifyArrayNewMemory(const void* p) override { return VerifyMallocMemory(p); }
  bool VerifyMallocMemory(const void* p) override { return p == nullptr || acre_owns(p) != 0; }

  bool MallocMemoryStats(int* blocks, size_t* total, int histogram[kMallocHistogramSize]) override {
    static_assert(kMallocHistogramSize == ACRE_BLOCK_SIZES);
    size_t count, by_size[ACRE_BLOCK_SIZES];
    acre_block_sizes(&count, total, by_size);
    *blocks = as_int(count);
    std::transform(by_size, by_size + ACRE_BLOCK_SIZES, histogram, as_int);
    return true;
  }

  void GetStats(char* buffer, int buffer_length) override {
    if (buffer_length <= 0) return;
    Cut text(buffer, static_cast<size_t>(buffer_length));
    add_statistics(text);
    acre_malloc_stats_print([](void* to, const char* more) { static_cast<Cut*>(to)->add(more); }, &text, nullptr);
  }

  void** ReadStackTraces(int* sample_period) override { return read_stacks(ACRE_STACKS_OF_SAMPLES, sample_period); }
  void** ReadHeapGrowthStackTraces() override { return read_stacks(ACRE_STACKS_OF_GROWTH, nullptr); }

  void Ranges(void* arg, RangeFunction func) override {
    struct Given {
      RangeFunction* function;
      void* argument;
    } given{func, arg};
    acre_ranges(
        [](void* to, uintptr_t start, size_t bytes, int kind, double fraction) {
          const auto* given_to = static_cast<const Given*>(to);
          const base::MallocRange range{start, bytes, static_cast<base::MallocRange::Type>(kind), fraction};
          given_to->function(given_to->argument, &range);
        },
        &given);
  }

  bool GetNumericProperty(const char* name, size_t* value) override { return acre_get_property(name, value) != 0; }
  bool SetNumericProperty(const char* name, size_t value) override { return acre_set_property(name, value) != 0; }

  void MarkThreadIdle() override { acre_mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0); }
  void MarkThreadTemporarilyIdle() override { MarkThreadIdle(); }

  SysAllocator* GetSystemAllocator() override {
    SysAllocator* set = system_allocator.load(std::memory_order_acquire);
    return set != nullptr ? set : system_memory();
  }
  void SetSystemAllocator(SysAllocator* a) override {
    if (a == system_memory()) a = nullptr;
    const auto allocate = [](void* allocator, size_t bytes, size_t* actual, size_t alignment) {
      return static_cast<SysAllocator*>(allocator)->Alloc(bytes, actual, alignment);
    };
    if (acre_set_system_allocator(a == nullptr ? nullptr : static_cast<Allocate*>(allocate), a) != 0) return;
    system_allocator.store(a, std::memory_order_release);
  }

  void ReleaseToSystem(size_t bytes) override { acre_release_memory(bytes); }
  void ReleaseFreeMemory() override { acre_malloc_trim(0); }
  void SetMemoryReleaseRate(double rate) override { acre_set_release_rate(rate); }
  double GetMemoryReleaseRate() override { return acre_get_release_rate(); }

  size_t GetEstimatedAllocatedSize(size_t size) override { return acre_nallocx(size, 0); }
  size_t GetAllocatedSize(const void* p) override { return acre_malloc_usable_size(p); }
  Ownership GetOwnership(const void* p) override { return acre_owns(p) != 0 ? kOwned : kNotOwned; }

  void GetFreeListSizes(std::vector<FreeListInfo>* v) override {
    v->clear();
    acre_free_lists(
        [](void* to, size_t least, size_t most, size_t bytes, const char* type) {
          static_cast<std::vector<FreeListInfo>*>(to)->push_back({least, most, bytes, type});
        },
        v);
  }

  size_t GetThreadCacheSize() override { return acre_thread_cache_bytes(); }

 private:
  using Allocate = void*(void* allocator, size_t bytes, size_t* actual, size_t alignment);
};

}  // namespace

MallocExtension* acre_extension() {
  alignas(AcreExtension) static char place[sizeof(AcreExtension)];
  static MallocExtension* const extension = new (place) AcreExtension;
  return extension;
}
