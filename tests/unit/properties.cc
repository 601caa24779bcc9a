// control/properties and control/block_lists: what they say agrees with itself, and with what was allocated.
#include "control/properties.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "acre/heap.h"
#include "acre/tcmalloc.h"
#include "cache/registry.h"
#include "control/block_lists.h"
#include "control/ctl.h"
#include "control/statistics.h"
#include "pages/page_map.h"
#include "support.h"
#include "tables/options.h"

namespace acre {
namespace {

size_t get(const char* name) {
  size_t value = SIZE_MAX;
  EXPECT_EQ(acre_get_property(name, &value), 1) << name;
  return value;
}

void flush() { EXPECT_EQ(ctl::by_name("thread.tcache.flush", nullptr, nullptr, nullptr, 0), 0); }

class Properties : public testing::Test {
 protected:
  void SetUp() override { acre_free(acre_malloc(10)); }
  void TearDown() override {
    EXPECT_EQ(acre_set_release_rate(1), 0);  // of the arenas, too
    for (unsigned i = 0; i < kOptionCount; ++i) set_option(i, kOptionTable[i].initial, OptionSource::kDefault);
  }
};

void expect_sums_agree() {
  EXPECT_EQ(get("generic.heap_size"),
            get("generic.current_allocated_bytes") + get("tcmalloc.central_cache_free_bytes") +
                get("tcmalloc.transfer_cache_free_bytes") + get("tcmalloc.thread_cache_free_bytes") +
                get("tcmalloc.pageheap_free_bytes") + get("tcmalloc.pageheap_unmapped_bytes"));
}

TEST_F(Properties, FollowWhatIsAllocated) {
  const size_t allocated = get("generic.current_allocated_bytes");
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) blocks.push_back(acre_malloc(100 << 10));
  blocks.push_back(acre_malloc(100 << 20));
  EXPECT_EQ(get("generic.current_allocated_bytes") - allocated, (100u << 20) + 100 * (100u << 10));
  expect_sums_agree();
  for (void* block : blocks) acre_free(block);
  EXPECT_EQ(get("generic.current_allocated_bytes"), allocated);
  expect_sums_agree();
}

// A thread frees half of another one's blocks: they wait for their owner. When it is gone they are nobody's.
TEST_F(Properties, FreeBlocksAreSomebodysWaitingOrNobodys) {
  constexpr size_t kBlocks = 10000, kSize = 512;
  flush();
  const size_t central = get("tcmalloc.central_cache_free_bytes");
  std::thread([&] {
    std::vector<void*> blocks(kBlocks);
    for (void*& block : blocks) block = acre_malloc(kSize);
    std::thread([&] {
      for (size_t i = 0; i < kBlocks; i += 2) acre_free(blocks[i]);
    }).join();
    EXPECT_GT(get("tcmalloc.central_cache_free_bytes"), central + kBlocks / 2 * kSize * 9 / 10) << "full runs";
    void* const more = acre_malloc(64);
    EXPECT_GT(get("tcmalloc.thread_cache_free_bytes"), 0u);
    EXPECT_GT(acre_thread_cache_bytes(), 0u);
    std::thread([&] { acre_free(more); }).join();
    EXPECT_GE(get("tcmalloc.transfer_cache_free_bytes"), 64u);
    expect_sums_agree();
    for (size_t i = 1; i < kBlocks; i += 2) acre_free(blocks[i]);
    EXPECT_GE(acre_thread_cache_bytes(), 64u);
    flush();
    EXPECT_EQ(acre_thread_cache_bytes(), 0u);
  }).join();
  EXPECT_EQ(get("tcmalloc.thread_cache_free_bytes"), acre_thread_cache_bytes());
  EXPECT_EQ(get("tcmalloc.transfer_cache_free_bytes"), 0u);
  expect_sums_agree();
}

// Neither runs nor lists are looked at for them, which is done under the lock of control.
TEST_F(Properties, FiguresOfPagesComeWithoutAWalk) {
  get("generic.current_allocated_bytes");
  const uint64_t walks = registry::control_lock.counts().acquisitions;
  for (const char* name :
       {"generic.heap_size", "generic.total_physical_bytes", "tcmalloc.max_total_thread_cache_bytes",
        "tcmalloc.pageheap_free_bytes", "tcmalloc.pageheap_unmapped_bytes", "tcmalloc.slack_bytes",
        "tcmalloc.pageheap_committed_bytes", "tcmalloc.pageheap_scavenge_count", "tcmalloc.pageheap_decommit_count",
        "tcmalloc.pageheap_total_decommit_bytes", "tcmalloc.pageheap_total_commit_bytes", "tcmalloc.heap_limit_mb",
        "tcmalloc.aggressive_memory_decommit", "tcmalloc.impl.thread_cache_count"}) {
    get(name);
  }
  EXPECT_EQ(registry::control_lock.counts().acquisitions, walks);
  get("generic.current_allocated_bytes");
  EXPECT_EQ(registry::control_lock.counts().acquisitions, walks + 1);
}

// By themselves they are what they are among all figures.
TEST_F(Properties, FiguresOfPagesAreThoseOfTheStatistics) {
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(acre_malloc(static_cast<size_t>(i) * 37 % 60000 + 1));
  blocks.push_back(acre_malloc(100 << 20));
  for (size_t i = 0; i < blocks.size(); i += 3) acre_free(blocks[i]);
  const ProcessStatistics all = gather_process();
  const ProcessStatistics pages = gather_pages();
  EXPECT_EQ(pages.active, all.active);
  EXPECT_EQ(pages.dirty, all.dirty);
  EXPECT_EQ(pages.clean, all.clean);
  EXPECT_EQ(pages.resident, all.resident);
  EXPECT_EQ(pages.mapped, all.mapped);
  EXPECT_EQ(pages.live_huge, all.live_huge);
  EXPECT_EQ(pages.purged, all.purged);
  EXPECT_EQ(pages.purges, all.purges);
  EXPECT_EQ(pages.threads, all.threads);
  EXPECT_EQ(gather_blocks().allocated, all.allocated);
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 3 != 0) acre_free(blocks[i]);
  }
}

TEST_F(Properties, UnknownOnesAndThoseThatAreRead) {
  size_t value = 7;
  EXPECT_EQ(acre_get_property("", &value), 0);
  EXPECT_EQ(acre_get_property("generic.heap_sizes", &value), 0);
  EXPECT_EQ(acre_set_property("generic.heap_sizes", 1), 0);
  EXPECT_EQ(acre_set_property("generic.heap_size", 1), 0);
  EXPECT_EQ(value, 7u);
}

TEST_F(Properties, TheBoundOfThreadCachesIsTheOption) {
  EXPECT_GE(get("tcmalloc.max_total_thread_cache_bytes"), size_t{64} << 20) << "acre's choice";
  EXPECT_EQ(acre_set_property("tcmalloc.max_total_thread_cache_bytes", 1234567), 1);
  EXPECT_EQ(options().thread_cache_max, 1234567);
  EXPECT_EQ(get("tcmalloc.max_total_thread_cache_bytes"), 1234567u);
  EXPECT_EQ(acre_set_property("tcmalloc.max_total_thread_cache_bytes", size_t{kMostBytes} + 1), 0);
  EXPECT_EQ(acre_set_property("tcmalloc.max_total_thread_cache_bytes", SIZE_MAX), 0);
  EXPECT_EQ(options().thread_cache_max, 1234567);
}

TEST_F(Properties, WhatEachThreadMayKeepIsTheOption) {
  EXPECT_EQ(get("tcmalloc.min_per_thread_cache_bytes"), 0u);
  EXPECT_EQ(acre_set_property("tcmalloc.min_per_thread_cache_bytes", 512 << 10), 1);
  EXPECT_EQ(options().thread_cache_min, 512 << 10);
  EXPECT_EQ(get("tcmalloc.min_per_thread_cache_bytes"), size_t{512} << 10);
  EXPECT_EQ(acre_set_property("tcmalloc.min_per_thread_cache_bytes", SIZE_MAX), 0);
}

TEST_F(Properties, TheHeapLimitIsTheHardLimit) {
  EXPECT_EQ(get("tcmalloc.heap_limit_mb"), 0u);
  EXPECT_EQ(acre_set_property("tcmalloc.heap_limit_mb", 4000), 1);
  EXPECT_EQ(options().hard_limit, int64_t{4000} << 20);
  EXPECT_EQ(get("tcmalloc.heap_limit_mb"), 4000u);
  EXPECT_EQ(acre_set_property("tcmalloc.heap_limit_mb", (size_t{kMostBytes} >> 20) + 1), 0);
  EXPECT_EQ(acre_set_property("tcmalloc.heap_limit_mb", SIZE_MAX), 0);
  EXPECT_EQ(acre_set_property("tcmalloc.heap_limit_mb", 0), 1);
  EXPECT_EQ(options().hard_limit, 0);
}

TEST_F(Properties, AggressiveDecommitIsADecayTimeOfZero) {
  EXPECT_EQ(get("tcmalloc.aggressive_memory_decommit"), 0u);
  EXPECT_EQ(acre_set_property("tcmalloc.aggressive_memory_decommit", 5), 1);
  EXPECT_EQ(options().dirty_decay_ms, 0);
  EXPECT_EQ(get("tcmalloc.aggressive_memory_decommit"), 1u);
  EXPECT_EQ(acre_set_property("tcmalloc.aggressive_memory_decommit", 0), 1);
  EXPECT_EQ(options().dirty_decay_ms, 10000);
  ASSERT_EQ(acre_set_release_rate(2), 0);
  EXPECT_EQ(acre_set_property("tcmalloc.aggressive_memory_decommit", 0), 1);
  EXPECT_EQ(options().dirty_decay_ms, 5000) << "it was not aggressive";
}

TEST_F(Properties, ReleaseRates) {
  EXPECT_EQ(acre_get_release_rate(), 1);
  for (const double rate : {10.0, 0.01, 0.0, 2.5}) {
    EXPECT_EQ(acre_set_release_rate(rate), 0);
    EXPECT_EQ(acre_get_release_rate(), rate);
  }
  for (const double wrong : {-1.0, std::nan("")}) EXPECT_EQ(acre_set_release_rate(wrong), -1);
  EXPECT_EQ(options().dirty_decay_ms, 4000);
  EXPECT_EQ(acre_set_release_rate(HUGE_VAL), 0);
  EXPECT_EQ(options().dirty_decay_ms, 0);
  EXPECT_EQ(acre_get_release_rate(), 10000);
  EXPECT_EQ(acre_set_release_rate(1e-300), 0);
  EXPECT_EQ(options().dirty_decay_ms, kMostMs);

  ssize_t rate = 1 << 20;  // bytes a second take the place of a decay time, until a rate is set
  ASSERT_EQ(ctl::by_name("opt.release_rate", nullptr, nullptr, &rate, sizeof rate), 0);
  EXPECT_LT(acre_get_release_rate(), 0);
  rate = 0;
  ASSERT_EQ(ctl::by_name("opt.release_rate", nullptr, nullptr, &rate, sizeof rate), 0);
  EXPECT_EQ(acre_get_release_rate(), 0);
  EXPECT_EQ(acre_set_release_rate(4), 0);
  EXPECT_EQ(options().release_rate, -1);
  EXPECT_EQ(options().dirty_decay_ms, 2500);
}

TEST_F(Properties, MemoryIsReleasedByBytes) {
  acre_malloc_trim(0);
  void* block = acre_malloc(8 << 20);
  acre_free(block);
  const size_t unused = get("tcmalloc.pageheap_free_bytes");
  ASSERT_GE(unused, 8u << 20);
  EXPECT_EQ(acre_release_memory(1), 4096u);
  EXPECT_EQ(acre_release_memory(2 << 20), 2u << 20);
  EXPECT_EQ(get("tcmalloc.pageheap_free_bytes"), unused - (2 << 20) - 4096);
  EXPECT_EQ(acre_release_memory(0), 0u);
  EXPECT_EQ(acre_release_memory(SIZE_MAX), unused - (2 << 20) - 4096);
  EXPECT_EQ(get("tcmalloc.pageheap_free_bytes"), 0u);
}

TEST_F(Properties, SizesAreThoseOfBlocks) {
  for (size_t size = 0; size < size_t{200} << 20; size = size * 9 / 8 + 1) {
    void* block = acre_malloc(size);
    EXPECT_EQ(acre_nallocx(size, 0), acre_malloc_usable_size(block)) << size;
    acre_free(block);
  }
  for (int log2 = 0; log2 < 24; ++log2) {
    for (size_t size : {size_t{1}, size_t{100}, size_t{5000}, size_t{100000}}) {
      void* block = acre_memalign(size_t{1} << log2, size);
      EXPECT_EQ(acre_nallocx(size, log2), acre_malloc_usable_size(block)) << size << " at 2^" << log2;
      acre_free(block);
    }
  }
  EXPECT_EQ(acre_nallocx(SIZE_MAX, 0), 0u);
  EXPECT_EQ(acre_nallocx(1, 63), 0u);
  EXPECT_EQ(acre_nallocx(1, -1), 0u);
}

using Lists = std::map<std::string, std::map<size_t, size_t>>;  // type, most: bytes
Lists lists() {
  Lists found;
  acre_free_lists(
      [](void* to, size_t least, size_t most, size_t bytes, const char* type) {
        EXPECT_TRUE(0 < least && least <= most) << type;
        EXPECT_NE(bytes, 0u) << type;
        EXPECT_TRUE((*static_cast<Lists*>(to))[type].emplace(most, bytes).second) << type << " twice: " << most;
      },
      &found);
  return found;
}

TEST_F(Properties, ListsOfFreeMemory) {
  flush();
  void* small = acre_malloc(200);
  const size_t size = acre_malloc_usable_size(small);
  Lists found = lists();
  EXPECT_EQ(found["tcmalloc.thread"].size(), 1u) << "all others were given up";
  EXPECT_GT(found["tcmalloc.thread"][size], size * 10);
  EXPECT_EQ(found["tcmalloc.thread"][size] % size, 0u);
  flush();
  found = lists();
  EXPECT_EQ(found.count("tcmalloc.thread"), 0u);
  EXPECT_GT(found["tcmalloc.central"][size], size * 10);
  acre_free(small);

  acre_malloc_trim(0);
  EXPECT_EQ(lists().count("tcmalloc.large"), 0u);
  void* large = acre_malloc(3 << 20);
  void* behind = acre_malloc(64 << 10);
  acre_free(large);
  found = lists();
  EXPECT_GE(found["tcmalloc.large"][INT64_MAX], 3u << 20);
  acre_free(behind);
}

TEST_F(Properties, BlocksBySize) {
  std::vector<void*> blocks;
  const block_lists::BlockSizes before = block_lists::block_sizes();
  for (int i = 0; i < 10; ++i) blocks.push_back(acre_malloc(40 << 10));
  blocks.push_back(acre_malloc(70 << 20));
  const block_lists::BlockSizes after = block_lists::block_sizes();
  EXPECT_EQ(after.blocks - before.blocks, 11u);
  EXPECT_EQ(after.bytes - before.bytes, (70u << 20) + 10 * (40u << 10));
  EXPECT_EQ(after.by_size[15] - before.by_size[15], 10u);
  EXPECT_EQ(after.by_size[26] - before.by_size[26], 1u);
  for (void* block : blocks) acre_free(block);
}

// Of heaps that are destroyed a few are kept, and others are retired.
TEST_F(Properties, CountsDoNotFallWithTheArenaThatTheyAreOf) {
  constexpr unsigned kHeaps = 100, kPurges = 20;
  const size_t first = get("tcmalloc.pageheap_total_decommit_bytes");
  acre_heap_settings settings = {};
  settings.dirty_decay_ms = ACRE_DECAY_AT_ONCE;
  std::vector<acre_heap_t*> heaps;
  for (unsigned i = 0; i < kHeaps; ++i) {
    heaps.push_back(acre_heap_create(&settings));
    for (unsigned purge = 0; purge < kPurges; ++purge) acre_free(acre_heap_malloc(heaps[i], 100000));
  }
  const size_t bytes = get("tcmalloc.pageheap_total_decommit_bytes"), calls = get("tcmalloc.pageheap_decommit_count");
  EXPECT_GE(bytes - first, size_t{kHeaps} * kPurges * 100000);
  for (acre_heap_t* heap : heaps) acre_heap_destroy(heap);
  EXPECT_GE(get("tcmalloc.pageheap_total_decommit_bytes"), bytes);
  EXPECT_GE(get("tcmalloc.pageheap_decommit_count"), calls);
}

// What the heap profiler samples lies in runs of its own.
TEST_F(Properties, SampledBlocksAreAmongAllBlocks) {
  bool on = true;
  ASSERT_EQ(acre_mallctl("prof.active", nullptr, nullptr, &on, sizeof on), 0);
  size_t every_block = 0;
  ASSERT_EQ(acre_mallctl("prof.reset", nullptr, nullptr, &every_block, sizeof every_block), 0);
  const block_lists::BlockSizes before = block_lists::block_sizes();
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(acre_malloc(3000));
  EXPECT_GE(block_lists::block_sizes().blocks - before.blocks, 990u);
  size_t bytes = 0;
  acre_ranges([](void* sum, uintptr_t, size_t more, int, double) { *static_cast<size_t*>(sum) += more; }, &bytes);
  EXPECT_EQ(bytes, get("generic.heap_size"));
  for (void* block : blocks) acre_free(block);
  on = false;
  ASSERT_EQ(acre_mallctl("prof.active", nullptr, nullptr, &on, sizeof on), 0);
}

struct Ranges {
  const void* block;
  size_t bytes = 0;
  int kind = -1;
  double fraction = -1;
  static void visit(void* opaque, uintptr_t start, size_t bytes, int kind, double fraction) {
    auto* ranges = static_cast<Ranges*>(opaque);
    ranges->bytes += bytes;
    if (reinterpret_cast<uintptr_t>(ranges->block) - start >= bytes) return;
    ranges->kind = kind;
    ranges->fraction = fraction;
  }
};

TEST_F(Properties, RangesCoverTheHeap) {
  for (const size_t size : {size_t{1} << 20, size_t{100} << 20, size_t{100}}) {
    void* block = acre_malloc(size);
    Ranges ranges{block};
    acre_ranges(Ranges::visit, &ranges);
    EXPECT_EQ(ranges.bytes, get("generic.heap_size"));
    EXPECT_EQ(ranges.kind, 0);
    if (size > 100) { EXPECT_EQ(ranges.fraction, 1); }
    EXPECT_GT(ranges.fraction, 0);
    EXPECT_LE(ranges.fraction, 1);
    acre_free(block);
  }
  void* block = acre_malloc(1 << 20);
  acre_free(block);
  Ranges ranges{block};
  acre_ranges(Ranges::visit, &ranges);
  EXPECT_EQ(ranges.kind, 1) << "free";
  acre_malloc_trim(0);
  acre_ranges(Ranges::visit, &ranges);
  EXPECT_EQ(ranges.kind, 2) << "and without memory";
}

// A reader without a lock may see what a run is before it sees the header: on ARM, and where an arena is retired.
TEST_F(Properties, RangesPassOverARunWithoutItsHeader) {
  const Address base = Address{1} << 46;
  PageRun run = test::run_at(base, 1);
  run.kind = RunKind::kSampled;
  ASSERT_TRUE(g_page_map.prepare(base, run.bytes()));
  g_page_map.set_all(&run, &run);
  Ranges ranges{pointer_to(base)};
  acre_ranges(Ranges::visit, &ranges);
  g_page_map.set_all(&run, nullptr);
  EXPECT_EQ(ranges.kind, -1);
}

// --- acre_verify_memory -------------------------------------------------------------------------------------

struct Damage {
  explicit Damage(void* block) : at(static_cast<uint64_t*>(block)), kept(*at) { *at = 0x5858585858585858; }
  ~Damage() { *at = kept; }
  volatile uint64_t* at;
  uint64_t kept;
};

class Verify : public Properties {};

TEST_F(Verify, WholeListsInAllStates) {
  EXPECT_TRUE(acre_verify_memory());
  std::vector<void*> blocks;
  for (size_t i = 0; i < 20000; ++i) {
    blocks.push_back(acre_malloc(i * 7 % 20000));
    if (i % 3 == 0) {
      acre_free(blocks[blocks.size() / 2]);
      blocks[blocks.size() / 2] = acre_malloc(48);
    }
    if (i % 1000 == 0) { EXPECT_TRUE(acre_verify_memory()) << i; }
  }
  std::thread([&] {
    for (size_t i = 0; i < blocks.size(); i += 2) acre_free(blocks[i]);
    EXPECT_TRUE(acre_verify_memory());
  }).join();
  EXPECT_TRUE(acre_verify_memory());
  for (size_t i = 1; i < blocks.size(); i += 2) acre_free(blocks[i]);
  EXPECT_TRUE(acre_verify_memory());
}

TEST_F(Verify, AWriteToAFreedBlock) {
  void* block = acre_malloc(80);
  acre_free(block);
  {
    Damage damage(block);
    EXPECT_FALSE(acre_verify_memory());
  }
  EXPECT_TRUE(acre_verify_memory());
}

TEST_F(Verify, AWriteToABlockThatLiesReady) {
  void* block = acre_malloc(80);
  void* next = acre_malloc(80);
  void* ready = static_cast<char*>(next) + (static_cast<char*>(next) - static_cast<char*>(block));
  if (!acre_owns(ready)) {  // it was cut, and is on the private list
    Damage damage(ready);
    EXPECT_FALSE(acre_verify_memory());
  }
  EXPECT_TRUE(acre_verify_memory());
  acre_free(block);
  acre_free(next);
}

TEST_F(Verify, AWriteToABlockThatAnotherThreadFreed) {
  void* block = acre_malloc(80);
  std::thread([&] { acre_free(block); }).join();
  {
    Damage damage(block);
    EXPECT_FALSE(acre_verify_memory());
  }
  EXPECT_TRUE(acre_verify_memory());
}

TEST_F(Verify, AThreadWithoutAHeapHasNothingToVerify) {
  std::thread([] {
    EXPECT_TRUE(acre_verify_memory());
    EXPECT_EQ(acre_thread_cache_bytes(), 0u);
    flush();
  }).join();
}

}  // namespace
}  // namespace acre
