// The whole API against the model of ../fuzz/model.h: every way to get, change and free a block, by four threads that
// hand blocks on, in heaps, arenas, caches and tags of the program, between calls of mallctl that purge, flush and switch
// things. One thread works at a time, so that an input always does the same.
#define FUZZ_END std::abort()
#include <acre/acre.h>
#include <acre/heap.h>
#include <acre/jemalloc.h>
#include <acre/tags.h>
#include <acre/tcmalloc.h>

#include <array>
#include <memory>

#include "../fuzz/model.h"
#include "../unit/worker.h"
#include "input.h"

namespace {

using acre::fuzz::Input;
using ::fuzz::Live;

constexpr size_t kWorkers = 4;
constexpr size_t kPlaces = 3;  // heaps, arenas, caches, that there are at a time
constexpr size_t kMostBytes = size_t{16} << 20;
constexpr size_t kMostBlocks = 1000;

template <class T>
T get(const char* name) {
  T value{};
  size_t size = sizeof value;
  FUZZ_CHECK(acre_mallctl(name, &value, &size, nullptr, 0) == 0);
  return value;
}

template <class T>
int set(const std::string& name, T value) {
  return acre_mallctl(name.c_str(), nullptr, nullptr, &value, sizeof value);
}

size_t allocated() {
  const struct mallinfo2 info = acre_mallinfo2();
  return info.uordblks + info.hblkhd;
}

class Driver {
 public:
  explicit Driver(Input& input) : input_(input) {
    for (auto& worker : workers()) {
      if (worker == nullptr) worker = std::make_unique<acre::test::Worker>();
    }
  }

  void run() {
    for (::fuzz::position.step = 0; !input_.empty(); ++::fuzz::position.step) {
      in_a_thread([this] { step(); });
      if (ends_ == nullptr) continue;
      *ends_ = std::make_unique<acre::test::Worker>();
      ends_ = nullptr;
    }
    ::fuzz::position.operation = "the end";
    model_.check_all();
    FUZZ_CHECK(acre_verify_memory() == 1);
    while (!model_.empty()) in_a_thread([this] { release(model_.count() - 1); });
    in_each_thread([] { while (acre_tag_pop() == 0) {} });
    for (acre_heap_t*& heap : heaps_) destroy(heap);
    for (unsigned& cache : caches_) drop_cache(cache);
    add_up();
  }

 private:
  static std::array<std::unique_ptr<acre::test::Worker>, kWorkers>& workers() {
    static std::array<std::unique_ptr<acre::test::Worker>, kWorkers> workers;
    return workers;
  }

  // Half of the steps in this thread, the others in one of the workers.
  template <class Do>
  void in_a_thread(Do&& act) {
    const size_t which = input_.below(2 * kWorkers);
    if (which >= kWorkers) return act();
    workers()[which]->run(act);
  }
  template <class Do>
  void in_each_thread(Do&& act) {
    act();
    for (auto& worker : workers()) worker->run(act);
  }

  size_t some_size() {
    switch (input_.below(8)) {
      case 0: return input_.below(3);
      case 1: return (size_t{1} << input_.below(16)) + input_.below(3) - 1;
      case 2: return input_.below(32 << 10) + 1;
      case 3: return input_.one_in(8) ? input_.below(5 << 20) + 1 : input_.below(100 << 10) + 1;
      case 4: return input_.one_in(64) ? (size_t{65} << 20) + input_.below(1 << 20) : input_.below(5000);
      default: return input_.below(600) + 1;
    }
  }

  Live enter(void* memory, size_t size, size_t alignment, unsigned place = 0) {
    FUZZ_CHECK(memory != nullptr);
    Live block{static_cast<unsigned char*>(memory), size, acre_malloc_usable_size(memory), alignment, ++tag_, place};
    FUZZ_CHECK(block.usable >= size);
    FUZZ_CHECK(is_aligned(memory, 8) && (size < 16 || is_aligned(memory, 16)));
    FUZZ_CHECK(alignment == 0 || is_aligned(memory, alignment));
    FUZZ_CHECK(acre_owns(memory) && acre_sallocx(memory, 0) == block.usable);
    model_.add(block);
    return block;
  }
  void expect_zeroes(const void* memory, size_t size) {
    FUZZ_CHECK(memory != nullptr);
    const auto* bytes = static_cast<const unsigned char*>(memory);
    ::fuzz::each_checked_byte(size, [&](size_t i) { FUZZ_CHECK(bytes[i] == 0); });
  }

  // --- A block more -------------------------------------------------------------------------------------------

  void allocate() {
    const size_t size = some_size(), alignment = size_t{8} << input_.below(input_.one_in(10) ? 19 : 8);
    const size_t rounded = (size + alignment - 1) & ~(alignment - 1), count = 1 + input_.below(20);
    void* out = nullptr;
    ::fuzz::position.operation = "an allocation";
    switch (input_.below(12)) {
      case 0:
        out = acre_calloc(count, size / count);
        expect_zeroes(out, size / count * count);
        enter(out, size / count * count, 0);
        return;
      case 1: out = acre_aligned_alloc(alignment, rounded); return out == nullptr && size == 0 ? void() : void(enter(out, rounded, alignment));
      case 2: FUZZ_CHECK(acre_posix_memalign(&out, alignment, size) == 0); enter(out, size, alignment); return;
      case 3: enter(acre_memalign(alignment, size), size, alignment); return;
      case 4: enter(acre_valloc(size), size, 4096); return;
      case 5: enter(acre_realloc(nullptr, size), size, 0); return;
      case 6: enter(acre_reallocarray(nullptr, count, size / count), size / count * count, 0); return;
      case 7: case 8: return by_flags(size == 0 ? 1 : size, alignment);
      case 9: return in_heap(size, alignment);
      default: enter(acre_malloc(size), size, 0); return;
    }
  }

  void by_flags(size_t size, size_t alignment) {
    ::fuzz::position.operation = "mallocx";
    int flags = 0;
    const bool zero = input_.ConsumeBool(), aligned = input_.ConsumeBool();
    if (zero) flags |= MALLOCX_ZERO;
    if (aligned) flags |= MALLOCX_ALIGN(alignment);
    switch (input_.below(4)) {
      case 0: flags |= MALLOCX_TCACHE_NONE; break;
      case 1: if (some_cache() != 0) flags |= MALLOCX_TCACHE(some_cache() - 1); break;
      default: break;
    }
    const size_t told = acre_nallocx(size, flags);
    void* memory = acre_mallocx(size, flags);
    if (zero) expect_zeroes(memory, size);
    const Live block = enter(memory, size, aligned ? alignment : 0);
    static const bool kSampled = get<bool>("opt.prof");  // a sampled block may be longer
    FUZZ_CHECK(block.usable == told || (kSampled && block.usable > told));
  }

  void in_heap(size_t size, size_t alignment) {
    ::fuzz::position.operation = "a heap's allocation";
    const size_t which = input_.below(kPlaces);
    if (heaps_[which] == nullptr) heaps_[which] = acre_heap_create(nullptr);
    acre_heap_t* heap = heaps_[which];
    FUZZ_CHECK(heap != nullptr);
    const unsigned place = static_cast<unsigned>(which) + 1;
    void* memory = nullptr;
    switch (input_.below(3)) {
      case 0: memory = acre_heap_malloc(heap, size); enter(memory, size, 0, place); break;
      case 1: memory = acre_heap_calloc(heap, 1, size); expect_zeroes(memory, size); enter(memory, size, 0, place); break;
      default: memory = acre_heap_aligned_alloc(heap, alignment, size); enter(memory, size, alignment, place); break;
    }
    FUZZ_CHECK(acre_heap_of(memory) == heap && acre_heap_bytes(heap) >= size);
  }

  // --- A block less, or another size of it --------------------------------------------------------------------

  void release(size_t index) {
    ::fuzz::position.operation = "free";
    const Live block = model_.remove(index);
    FUZZ_CHECK(acre_malloc_usable_size(block.memory) == block.usable);
    errno = 77;
    switch (input_.below(8)) {
      case 0:
        if (block.alignment == 0) acre_free_sized(block.memory, block.size);
        else acre_free_aligned_sized(block.memory, block.alignment, block.size);
        break;
      case 1: FUZZ_CHECK(acre_realloc(block.memory, 0) == nullptr); return;
      case 2: acre_dallocx(block.memory, input_.ConsumeBool() ? MALLOCX_TCACHE_NONE : 0); break;
      case 3: acre_sdallocx(block.memory, block.size, block.alignment == 0 ? 0 : MALLOCX_ALIGN(block.alignment)); break;
      case 4: acre_cfree(block.memory); break;
      default: acre_free(block.memory); break;
    }
    FUZZ_CHECK(errno == 77);
  }

  void resize() {
    ::fuzz::position.operation = "realloc";
    const size_t index = input_.below(model_.count());
    const Live old = model_.at(index);
    const size_t size = 1 + (input_.one_in(3) ? input_.below(old.usable + 64) : some_size());
    if (input_.one_in(4)) return resize_in_place(index, size);
    model_.remove(index);
    void* memory = nullptr;
    bool zero = false;
    switch (input_.below(4)) {
      case 0: memory = acre_reallocarray(old.memory, size, 1); break;
      case 1: zero = input_.ConsumeBool(); memory = acre_rallocx(old.memory, size, zero ? MALLOCX_ZERO : 0); break;
      default: memory = acre_realloc(old.memory, size); break;
    }
    FUZZ_CHECK(memory != nullptr);
    Live moved = old;
    moved.memory = static_cast<unsigned char*>(memory);
    model_.check(moved, old.size < size ? old.size : size);
    if (zero && size > old.usable) expect_zeroes(moved.memory + old.usable, size - old.usable);
    enter(memory, size, 0, acre_heap_of(memory) == nullptr ? 0 : old.place);
  }

  void resize_in_place(size_t index, size_t size) {
    ::fuzz::position.operation = "xallocx";
    const Live old = model_.remove(index);
    const size_t extra = input_.below(5000);
    const size_t now = acre_xallocx(old.memory, size, extra, 0);
    FUZZ_CHECK(now == acre_malloc_usable_size(old.memory));
    model_.check(old, now < old.usable ? now : old.usable);
    enter(old.memory, now, old.alignment, old.place);  // all of it is the program's
  }

  void refuse() {
    ::fuzz::position.operation = "impossible requests";
    const size_t size = SIZE_MAX - input_.below(70000), many = SIZE_MAX / 2 + input_.below(9);
    void* out = this;
    FUZZ_CHECK((errno = 0, hide(acre_malloc(size))) == nullptr && errno == ENOMEM);
    FUZZ_CHECK((errno = 0, hide(acre_malloc(many + 1))) == nullptr && errno == ENOMEM);  // PTRDIFF_MAX is the most
    FUZZ_CHECK((errno = 0, hide(acre_calloc(many, 3))) == nullptr && errno == ENOMEM);
    FUZZ_CHECK((errno = 0, hide(acre_reallocarray(nullptr, many, 3))) == nullptr && errno == ENOMEM);
    FUZZ_CHECK(hide(acre_memalign(64, size)) == nullptr && hide(acre_mallocx(size, 0)) == nullptr);
    FUZZ_CHECK(acre_posix_memalign(&out, 24, 10) == EINVAL && out == this);
    FUZZ_CHECK(acre_posix_memalign(&out, 64, size) == ENOMEM && out == this);
    acre_free(nullptr);
    if (model_.empty()) return;
    const Live& block = model_.at(input_.below(model_.count()));
    FUZZ_CHECK(hide(acre_realloc(block.memory, size)) == nullptr && hide(acre_reallocarray(block.memory, many, 3)) == nullptr);
    model_.check(block, block.usable);
    FUZZ_CHECK(!acre_owns(block.memory + block.usable / 2 + 1));
  }

  // --- What lies around the blocks ----------------------------------------------------------------------------

  unsigned& some_cache() { return caches_[cache_at_]; }
  void drop_cache(unsigned& cache) {
    if (cache != 0) FUZZ_CHECK(set("tcache.destroy", cache - 1) == 0);
    cache = 0;
  }

  void destroy(acre_heap_t*& heap) {
    if (heap == nullptr) return;
    const unsigned place = static_cast<unsigned>(&heap - heaps_.data()) + 1;
    for (size_t i = model_.count(); i-- != 0;) {
      if (model_.at(i).place == place) model_.remove(i);
    }
    if (input_.ConsumeBool()) return acre_heap_reset(heap);
    acre_heap_destroy(heap);
    heap = nullptr;
  }

  void push_tag(const char* name) {
    const int error = acre_tag_push(name);
    FUZZ_CHECK(error == 0 || error == EAGAIN || error == ENOTSUP);  // nested too deep; with junk or zero
    FUZZ_CHECK(error != 0 || acre_tag_in_force() == acre_tag(name));
  }

  void around() {
    ::fuzz::position.operation = "what lies around";
    static const char* const kTags[] = {"one", "two"};
    static const char* const kOptions[] = {"opt.dirty_decay_ms", "opt.muzzy_decay_ms"};
    switch (input_.below(14)) {
      case 0: acre_malloc_trim(input_.below(2) * 100000); return;
      case 1: FUZZ_CHECK(acre_mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0) == 0); return;
      case 2: acre_mallctl(input_.ConsumeBool() ? "arena.4096.purge" : "arena.0.decay", nullptr, nullptr, nullptr, 0); return;
      case 3: acre_mallctl("thread.idle", nullptr, nullptr, nullptr, 0); return;
      case 4: destroy(heaps_[input_.below(kPlaces)]); return;
      case 5: cache_at_ = input_.below(kPlaces); return;
      case 6:
        if (some_cache() == 0) some_cache() = get<unsigned>("tcache.create") + 1;
        else if (input_.ConsumeBool()) FUZZ_CHECK(set("tcache.flush", some_cache() - 1) == 0);
        else drop_cache(some_cache());
        return;
      case 7: return push_tag(kTags[input_.below(2)]);
      case 8: acre_tag_pop(); return;
      case 9: ends_ = &workers()[input_.below(kWorkers)]; return;
      case 10: set<bool>("thread.tcache.enabled", input_.ConsumeBool()); return;
      case 11: set<ssize_t>(kOptions[input_.below(2)], static_cast<ssize_t>(input_.below(3)) - 1); return;
      case 12: model_.check_all(); FUZZ_CHECK(acre_verify_memory() == 1); return;
      default: return add_up();
    }
  }

  // The figures count what the program has, to the byte.
  void add_up() {
    static const bool kHardened = get<bool>("opt.hardened");  // canaries and quarantined blocks count, too
    FUZZ_CHECK(kHardened ? allocated() >= model_.bytes() : allocated() == before_ + model_.bytes());
    FUZZ_CHECK(set<uint64_t>("epoch", 1) == 0);
    FUZZ_CHECK(get<size_t>("stats.active") >= get<size_t>("stats.allocated") && get<size_t>("stats.mapped") >= get<size_t>("stats.active"));
  }

  void step() {
    const bool full = model_.count() >= kMostBlocks || model_.bytes() > kMostBytes;
    const size_t dice = input_.below(100);
    if (dice == 0) {
      refuse();
    } else if (dice < 8) {
      around();
    } else if (!model_.empty() && dice < 22) {
      resize();
    } else if (full || (!model_.empty() && dice < 55)) {
      release(input_.below(model_.count()));
    } else if (dice < 60) {  // many of one size, as fill runs
      const size_t size = input_.below(2000) + 1;
      for (size_t count = input_.below(80); count != 0; --count) enter(acre_malloc(size), size, 0);
    } else if (dice < 64) {
      for (size_t count = input_.below(80); count != 0 && !model_.empty(); --count) release(model_.count() - 1);
    } else {
      allocate();
    }
  }

  Input& input_;
  const size_t before_ = allocated();
  ::fuzz::Model model_;
  std::array<acre_heap_t*, kPlaces> heaps_ = {};
  std::array<unsigned, kPlaces> caches_ = {};  // numbers, 1 more; 0: none
  size_t cache_at_ = 0;
  uint64_t tag_ = 0;
  std::unique_ptr<acre::test::Worker>* ends_ = nullptr;  // ends after this step
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Input input(data, size);
  Driver(input).run();
  return 0;
}
