// cache/run_lists: what a thread cache keeps, and the bound that all of them share.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/allowance.h"
#include "cache/private_list.h"
#include "cache/registry.h"
#include "cache/owner_at_work.h"
#include "cache/verify.h"
#include "reclaim/idle.h"
#include "support.h"
#include "tables/options.h"

namespace acre {
namespace {

void set_bound(size_t bytes) {
  std::string setting = "ACRE_CONF=thread_cache_max:" + std::to_string(bytes);
  char* environment[] = {setting.data(), nullptr};
  read_options(environment);
}

// Walks a heap's lists; the calling thread's own heap. It is busy at them meanwhile: to others a thread that only reads
// looks idle, and others may reclaim from it.
struct Walk {
  size_t kept_pages = 0;
  size_t adopted = 0;
  size_t available = 0;

  explicit Walk(Heap& heap) {
    const OwnerAtWork busy(heap);
    for (const Slab* slab = heap.adopted.newest(); slab != nullptr; slab = slab->node.next) {
      EXPECT_EQ(slab->list, OwnersList::kAdopted);
      visit(heap, slab);
      ++adopted;
    }
    for (SizeClass c = 0; c < kSmallClasses; ++c) walk_class(heap, c);
    EXPECT_EQ(heap.kept_pages, kept_pages);
    EXPECT_LE(heap.kept_pages, heap.allowed_pages);
  }

 private:
  void walk_class(const Heap& heap, SizeClass c) {
    const RunLists& lists = heap.use(c).lists;
    unsigned empties = 0;
    for (const Slab* slab = lists.available.newest(); slab != nullptr; slab = slab->node.next) {
      EXPECT_EQ(slab->list, OwnersList::kAvailable);
      EXPECT_EQ(slab->size_class, c);
      visit(heap, slab);
      empties += slab::used(slab) == 0;
      ++available;
    }
    EXPECT_EQ(lists.empties, empties);
    EXPECT_LE(lists.empties, lists.keep_more + 1u);
    EXPECT_LT(lists.keep_more, kMostRunsKept);
    if (lists.current != nullptr) {
      EXPECT_EQ(lists.current->list, OwnersList::kCurrent);
      EXPECT_EQ(lists.current->owner, heap.token);
    }
  }
  void visit(const Heap& heap, const Slab* slab) {
    EXPECT_EQ(slab->owner, heap.token);
    kept_pages += slab->pages;
  }
};

// Runs of the thread: its heap is there, and is emptied before and after.
class RunListsTest : public testing::Test {
 protected:
  RunListsTest() {
    acre_free(acre_malloc(1));
    empty_heap(*heap_if_any());
    set_bound(size_t{32} << 20);
  }
  ~RunListsTest() override {
    empty_heap(heap());
    EXPECT_EQ(heap().kept_pages, 0u);
    EXPECT_EQ(heap().allowed_pages, 0u);
    set_bound(size_t{32} << 20);
    EXPECT_EQ(shared_allowance_left(), size_t{32} << 20);
  }
  static Heap& heap() { return *heap_if_any(); }
};

std::vector<void*> allocate_many(size_t count, size_t size) {
  std::vector<void*> blocks(count);
  for (void*& block : blocks) {
    block = acre_malloc(size);
    if (block == nullptr) abort();
  }
  return blocks;
}

void free_shuffled(std::vector<void*> blocks, uint64_t seed) {
  test::Random random(seed);
  for (size_t i = blocks.size(); i != 0; --i) {
    std::swap(blocks[i - 1], blocks[random.below(i)]);
    acre_free(blocks[i - 1]);
  }
}

class RunListsBound : public RunListsTest, public testing::WithParamInterface<size_t> {};

TEST_P(RunListsBound, IsRespected) {
  set_bound(GetParam());
  std::vector<void*> blocks;
  for (size_t size : {16, 100, 1000, 5000, 30000}) {
    for (void* block : allocate_many((size_t{4} << 20) / size, size)) blocks.push_back(block);
  }
  test::Random random(1);
  for (size_t i = blocks.size(); i != 0; --i) {
    std::swap(blocks[i - 1], blocks[random.below(i)]);
    acre_free(blocks[i - 1]);
    ASSERT_LE(heap().kept_pages, heap().allowed_pages);
    if (i % 1024 == 0) {
      const Walk walk(heap());
      ASSERT_LE(walk.kept_pages * kPageBytes, GetParam());
      ASSERT_EQ(heap().allowed_pages * kPageBytes + shared_allowance_left(), GetParam() / kPageBytes * kPageBytes);
      ASSERT_FALSE(HasFailure());
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Bytes, RunListsBound,
                         testing::Values(size_t{0}, size_t{100000}, size_t{256} << 10, size_t{1} << 20,
                                         (size_t{3} << 20) + 12345, size_t{32} << 20));

TEST_F(RunListsTest, ThreadsShareTheBound) {
  constexpr size_t kBound = size_t{1} << 20;
  set_bound(kBound);
  std::vector<std::thread> threads;
  for (uint64_t seed = 0; seed < 3; ++seed) {
    threads.emplace_back([=] {
      for (int round = 0; round < 10; ++round) {
        free_shuffled(allocate_many(20000, 64 + seed * 100), seed);
        const Walk walk(*heap_if_any());
        ASSERT_LE(walk.kept_pages * kPageBytes, kBound);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(shared_allowance_left() + heap().allowed_pages * kPageBytes, kBound) << "ended threads kept a part";
}

// At the edge of a run: the same runs serve, round after round.
TEST_F(RunListsTest, RunsAreNotMadeAndDestroyedEachTime) {
  const SizeClass c = class_of_size(512);
  const size_t capacity = run_shape(c).capacity;
  std::vector<void*> base = allocate_many(capacity, 512);
  for (int i = 0; i < 30; ++i) free_shuffled(allocate_many(4 * capacity, 512), 1);  // learns how many to keep
  const uint64_t new_runs = registry::events_of(heap(), c).new_runs;
  for (int i = 0; i < 100; ++i) free_shuffled(allocate_many(4 * capacity, 512), 2);
  EXPECT_LE(registry::events_of(heap(), c).new_runs - new_runs, 20u) << "of 400 runs that were filled and emptied";
  const Walk walk(heap());
  for (void* block : base) acre_free(block);
}

// Frees a block past the private list.
void free_past_list(void* block) { acre_dallocx(block, MALLOCX_TCACHE_NONE); }

TEST_F(RunListsTest, ABlockFreedInAFullRunBringsItBack) {
  const SizeClass c = class_of_size(1024);
  const size_t capacity = run_shape(c).capacity;
  std::vector<void*> blocks = allocate_many(2 * capacity, 1024);
  free_past_list(blocks[0]);
  EXPECT_EQ(Walk(heap()).adopted, 1u);
  for (size_t i = 1; i < run_shape(c).enough; ++i) free_past_list(blocks[i]);
  const Walk walk(heap());
  EXPECT_EQ(walk.adopted, 0u);
  EXPECT_EQ(walk.available, 1u) << "enough of it is free";
  for (size_t i = run_shape(c).enough; i < blocks.size(); ++i) acre_free(blocks[i]);
}

// What others free in an adopted run is told to nobody: its owner looks before it makes a new run.
TEST_F(RunListsTest, WhatOthersHaveFreedServesBeforeANewRun) {
  const SizeClass c = class_of_size(1024);
  const RunShape& shape = run_shape(c);
  const auto new_runs = [&] { return registry::events_of(heap(), c).new_runs; };
  std::vector<void*> blocks = allocate_many(2 * shape.capacity, 1024);
  const size_t of_first = 1 + shape.enough;
  free_past_list(blocks[0]);
  EXPECT_EQ(Walk(heap()).adopted, 1u);
  const auto use_up = [&] {
    while (heap().use(c).lists.current->carved != shape.capacity || heap().slots[c].head != nullptr) {
      blocks.push_back(acre_malloc(1024));
    }
  };
  use_up();
  const uint64_t before = new_runs();
  std::thread([&] {
    for (size_t i = 1; i < of_first - 1; ++i) acre_free(blocks[i]);
  }).join();
  blocks.push_back(acre_malloc(1024));
  EXPECT_EQ(new_runs(), before);
  EXPECT_EQ(Walk(heap()).adopted, 0u);
  use_up();
  for (size_t i = of_first - 1; i < blocks.size(); ++i) acre_free(blocks[i]);
}

// A run in which no block is left to cut stays current while others have freed a few blocks: fewer than would make it
// worth offering again if it was released.
TEST_F(RunListsTest, ARunStaysCurrentForAFewBlocks) {
  const SizeClass c = class_of_size(48);
  const RunShape& shape = run_shape(c);
  ASSERT_LT(shape.enough_to_stay, shape.enough);
  const RunLists& lists = heap().use(c).lists;
  std::vector<void*> blocks;
  const auto use_up = [&] {
    do {
      blocks.push_back(acre_malloc(48));
    } while (lists.current->carved != lists.current->capacity || heap().slots[c].head != nullptr);
  };
  const auto others_free = [&](size_t count) {
    std::thread([&] {
      for (; count != 0; --count) {
        acre_free(blocks.back());
        blocks.pop_back();
      }
    }).join();
  };
  use_up();
  const Slab* run = lists.current;
  others_free(shape.enough_to_stay);
  blocks.push_back(acre_malloc(48));
  EXPECT_EQ(lists.current, run);
  use_up();
  EXPECT_EQ(lists.current, run);
  others_free(shape.enough_to_stay - 1u);
  blocks.push_back(acre_malloc(48));
  EXPECT_NE(lists.current, run);
  for (void* block : blocks) acre_free(block);
}

TEST_F(RunListsTest, WhatWasFreedLastIsHandedOutFirst) {
  for (size_t size : {16, 100, 1000, 4096}) {
    std::vector<void*> blocks = allocate_many(4, size);
    for (void* block : blocks) acre_free(block);
    for (size_t i = blocks.size(); i != 0; --i) EXPECT_EQ(acre_malloc(size), blocks[i - 1]) << size;
    for (void* block : blocks) acre_free(block);
  }
}

// A thread that allocates and frees in place never finds its list empty, and yet comes by the slow path.
TEST_F(RunListsTest, BlocksThatAreTakenInPlaceAreSeenInTheEnd) {
  const SizeClass c = class_of_size(64);
  void* lasting = acre_malloc(64);
  private_list::count_and_let(heap(), c, private_list::kMostLeft);
  const uint64_t recycled = heap().use(c).blocks.recycled;
  const uint32_t events = heap().events;
  const uint64_t refills = registry::events_of(heap(), c).refills;
  constexpr uint32_t kRounds = 10 * private_list::kMostLeft;
  for (uint32_t i = 0; i < kRounds + 1; ++i) acre_free(acre_malloc(64));
  EXPECT_EQ(registry::events_of(heap(), c).refills, refills);
  EXPECT_EQ(heap().events - events, 10u);
  EXPECT_EQ(heap().use(c).blocks.recycled - recycled, kRounds);
  private_list::count(heap(), c);
  EXPECT_EQ(heap().use(c).blocks.recycled - recycled, kRounds + 1);
  collect_step(heap());
  acre_free(lasting);
}

// What is used in place is no less busy than what comes to the slow path.
TEST_F(RunListsTest, ARunThatIsUsedInPlaceIsNotCollected) {
  const SizeClass c = class_of_size(64);
  const auto collect_all = [] {
    for (SizeClass i = 0; i < kSmallClasses; ++i) collect_step(heap());
  };
  acre_free(acre_malloc(64));
  collect_all();
  collect_all();
  EXPECT_EQ(heap().use(c).lists.current, nullptr) << "it was idle";
  acre_free(acre_malloc(64));
  const Slab* run = heap().use(c).lists.current;
  for (int i = 0; i < 10; ++i) {
    collect_step(heap());
    acre_free(acre_malloc(64));
    for (int k = 0; k < 36; ++k) collect_step(heap());
    EXPECT_EQ(heap().use(c).lists.current, run);
    acre_free(acre_malloc(64));
  }
}

// Blocks with which the private list of their class is empty, in several runs.
std::vector<void*> allocate_with_empty_list(size_t size) {
  const SizeClass c = class_of_size(size);
  std::vector<void*> blocks = allocate_many(4 * run_shape(c).capacity + run_shape(c).most_listed, size);
  while (heap_if_any()->slots[c].head != nullptr) blocks.push_back(acre_malloc(size));
  return blocks;
}

// A block is handed out again whatever run it is of, and nobody adopts the run.
TEST_F(RunListsTest, AListTakesBlocksOfAllRunsUpToItsBound) {
  for (size_t size : {16, 1000, 4096}) {
    const SizeClass c = class_of_size(size);
    const size_t most = run_shape(c).most_listed;
    std::vector<void*> blocks = allocate_with_empty_list(size);
    const size_t stride = blocks.size() / (most + 1);
    const uint64_t adoptions = registry::events_of(heap(), c).adoptions;
    for (size_t i = 0; i < most; ++i) acre_free(blocks[i * stride]);
    EXPECT_EQ(private_list_length(heap(), c), most) << size;
    EXPECT_EQ(registry::events_of(heap(), c).adoptions, adoptions);
    for (size_t i = most; i != 0; --i) EXPECT_EQ(acre_malloc(size), blocks[(i - 1) * stride]) << "the one freed last";
    for (size_t i = 0; i <= most; ++i) acre_free(blocks[i * stride]);
    EXPECT_EQ(private_list_length(heap(), c), most) << "the last one went to its run";
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % stride != 0 || i / stride > most) acre_free(blocks[i]);
    }
    EXPECT_TRUE(lists_are_whole(heap()));
  }
}

// A thread that frees blocks of others keeps as many, and no more.
TEST_F(RunListsTest, AListTakesBlocksOfOtherThreadsUpToItsBound) {
  const SizeClass c = class_of_size(200);
  acre_free(acre_malloc(200));
  std::vector<void*> blocks;
  std::thread([&blocks] { blocks = allocate_many(500, 200); }).join();
  for (void* block : blocks) acre_free(block);
  EXPECT_LE(private_list_length(heap(), c), larger<size_t>(run_shape(c).most_listed, run_shape(c).first_batch));
  EXPECT_TRUE(lists_are_whole(heap()));
}

// Given up, each goes back to its own run.
TEST_F(RunListsTest, ListsGoBackByCollection) {
  for (size_t size : {48, 4096}) {
    const SizeClass c = class_of_size(size);
    std::vector<void*> blocks = allocate_with_empty_list(size);
    for (size_t i = 0; i < blocks.size(); i += run_shape(c).capacity) acre_free(blocks[i]);
    EXPECT_NE(private_list_length(heap(), c), 0u);
    for (int step = 0; step < 200; ++step) collect_step(heap());
    EXPECT_TRUE(heap().slots[c].head == nullptr);
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % run_shape(c).capacity != 0) acre_free(blocks[i]);
    }
    EXPECT_TRUE(lists_are_whole(heap()));
  }
}

// Before the process grows much the runs in which nothing lives serve other classes; those with a live block stay.
TEST_F(RunListsTest, UnusedRunsServeOtherClasses) {
  const auto current = [](size_t size) { return heap().use(class_of_size(size)).lists.current; };
  heap().grown_by = 0;
  for (size_t size : {600, 700, 900}) acre_free(acre_malloc(size));
  void* live = acre_malloc(800);
  const Slab* used = current(800);
  for (size_t size : {600, 700, 900}) ASSERT_NE(current(size), nullptr);
  std::vector<void*> blocks;
  while (blocks.size() < 100000 && current(600) != nullptr) blocks.push_back(acre_malloc(4096));
  for (size_t size : {600, 700, 900}) EXPECT_EQ(current(size), nullptr) << size;
  EXPECT_EQ(current(800), used);
  for (int i = 0; i < 10; ++i) blocks.push_back(acre_malloc(600));
  const Walk walk(heap());
  acre_free(live);
  for (void* block : blocks) acre_free(block);
}

// But a thread that uses many classes, a block of each in turn, does not pass one run round among them.
TEST_F(RunListsTest, ClassesInTurnKeepTheirRuns) {
  const auto use_each = [] {
    for (size_t size = 50; size <= 1000; size += 50) acre_free(acre_malloc(size));
  };
  const auto new_runs = [] {
    uint64_t sum = 0;
    for (SizeClass c = 0; c < kSmallClasses; ++c) sum += registry::events_of(heap(), c).new_runs;
    return sum;
  };
  for (int i = 0; i < 100; ++i) use_each();
  const uint64_t before = new_runs();
  for (int i = 0; i < 1000; ++i) use_each();
  EXPECT_LE(new_runs() - before, 100u) << "of 20000 blocks";
}

// What a thread no longer uses goes back by collection, without a call that asks for it.
TEST_F(RunListsTest, CollectionRetiresWhatIsIdle) {
  free_shuffled(allocate_many(3000, 700), 3);
  EXPECT_NE(heap().use(class_of_size(700)).lists.current, nullptr);
  for (int step = 0; step < 200; ++step) collect_step(heap());
  for (const ClassUse& use : heap().cold().uses) EXPECT_EQ(use.lists.current, nullptr);
  EXPECT_EQ(heap().kept_pages, 0u);
}

TEST_F(RunListsTest, AnEmptiedHeapReturnsAllPages) {
  auto used = [] {
    size_t pages = 0;
    for (unsigned i = 0; i < arenas::count(); ++i) pages += arenas::at(i)->pages.counts().used;
    return pages;
  };
  const size_t before = used();
  for (size_t size = 1; size <= kSmallMax; size += size / 3 + 1) free_shuffled(allocate_many(500, size), size);
  empty_heap(heap());
  EXPECT_EQ(used(), before);
}

// A thread frees two blocks of each run of 96 MiB, while others that are alive keep nothing or much. -> the most that it
// kept, in bytes
size_t most_kept_beside(size_t kept_by_another) {
  constexpr size_t kSize = 1000;
  constexpr size_t capacity = run_shape(class_of_size(kSize)).capacity;
  const std::vector<void*> theirs = allocate_many(kept_by_another / kSize, kSize);
  for (size_t i = 0; i < theirs.size(); i += capacity / 2) acre_free(theirs[i]);
  size_t most = 0;
  std::thread thread([&most] {
    const std::vector<void*> blocks = allocate_many((size_t{96} << 20) / kSize, kSize);
    for (size_t i = 0; i < blocks.size(); i += capacity / 2) {
      acre_free(blocks[i]);
      most = larger(most, heap_if_any()->kept_pages * kPageBytes);
    }
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % (capacity / 2) != 0) acre_free(blocks[i]);
    }
  });
  {
    const OwnerAtWork busy(*heap_if_any());  // the other thread may not reclaim what this one keeps
    thread.join();
  }
  for (size_t i = 0; i < theirs.size(); ++i) {
    if (i % (capacity / 2) != 0) acre_free(theirs[i]);
  }
  return most;
}

TEST_F(RunListsTest, AThreadAtWorkBesideThreadsThatWaitKeepsAsMuchAsIsInUse) {
  ASSERT_TRUE(set_option(index_of(Option::thread_cache_max), -1, OptionSource::kRunTime));
  EXPECT_LE(most_kept_beside(size_t{24} << 20), size_t{44} << 20);
  empty_heap(heap());
  EXPECT_GT(most_kept_beside(0), size_t{88} << 20);
}

// Each thread may keep so much, although all together may keep nothing.
TEST_F(RunListsTest, WhatEachThreadMayKeep) {
  set_bound(0);
  const auto keep = [](int64_t least) {
    ASSERT_TRUE(set_option(index_of(Option::thread_cache_min), least, OptionSource::kRunTime));
    size_t most = 0;
    const std::vector<void*> blocks = allocate_many((size_t{16} << 20) / 100, 100);
    for (size_t i = 0; i < blocks.size(); i += 2) {
      acre_free(blocks[i]);
      most = larger(most, heap().kept_pages * kPageBytes);
    }
    EXPECT_LE(most, static_cast<size_t>(least));
    EXPECT_GE(most, static_cast<size_t>(least) * 3 / 4);
    for (size_t i = 1; i < blocks.size(); i += 2) acre_free(blocks[i]);
  };
  std::thread(keep, 0).join();
  std::thread(keep, int64_t{1} << 20).join();
  ASSERT_TRUE(set_option(index_of(Option::thread_cache_min), 0, OptionSource::kRunTime));
}

}  // namespace
}  // namespace acre
