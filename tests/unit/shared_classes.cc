// cache: blocks of shared classes, whose runs no thread owns.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "cache/verify.h"
#include "cache/thread_bytes.h"
#include "heap_support.h"
#include "observe/sampler.h"
#include "slab/slab_use.h"
#include "slab_support.h"
#include "worker.h"

namespace acre {
namespace {

using test::my_heap;
using test::slab_of;
using test::Worker;

constexpr size_t kSharedSize = 20480;
const SizeClass kSharedClass = class_of_size(kSharedSize);
const RunShape& kShape = run_shape(kSharedClass);

std::vector<void*> allocate_shared(size_t count, size_t size = kSharedSize) {
  std::vector<void*> blocks;
  for (size_t i = 0; i < count; ++i) blocks.push_back(acre_malloc(size));
  return blocks;
}

void release_all(std::vector<void*>& blocks) {
  for (void* block : blocks) acre_free(block);
  blocks.clear();
}

TEST(SharedClasses, AreThoseAbove4KiB) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) EXPECT_EQ(is_shared_class(c), size_of_class(c) > 4096) << size_of_class(c);
  std::vector<void*> blocks{acre_malloc(4096), acre_malloc(4097)};
  EXPECT_EQ(slab_of(blocks[0])->owner, this_thread());
  EXPECT_EQ(slab_of(blocks[0])->free_path, FreePath::kOutbox);
  EXPECT_EQ(slab_of(blocks[1])->owner, kNoThread);
  EXPECT_EQ(slab_of(blocks[1])->free_path, FreePath::kAtOnce);
  EXPECT_EQ(my_heap().use(class_of_size(8193)).lists.current, nullptr);
  release_all(blocks);
}

// --- The bin, with an arena of the test's own -------------------------------------------------------------------

class CommonBin : public testing::Test {
 protected:
  // A run in its bin, of which one block is out.
  Slab* binned_run(std::vector<void*>& out) {
    Slab* slab = test::make_slab(arena_, kSharedClass, Owner{});
    for (void* block : test::carve(slab, 1)) out.push_back(block);
    slab::release(slab);
    return slab;
  }
  void* take() {
    const BlockList taken = bin_.take_blocks(1);
    if (taken.count == 0) return nullptr;
    Link* block = taken.head;
    clear_link(block);
    return block;
  }
  static void expect_free(const Slab* slab, uint32_t free) {
    const RemoteWord word = load_remote(slab);
    EXPECT_EQ(word.state, free == 0 ? RunState::kFull : RunState::kBinned);
    EXPECT_EQ(word.free, free);
    EXPECT_EQ(word.free, word.local + test::list_length(slab, head_block(slab, word)));
    EXPECT_EQ(use_of(slab).live, slab->capacity - free);
  }

  Arena& arena_ = test::new_arena();
  Bin& bin_ = arena_.bin(kSharedClass);
};

TEST_F(CommonBin, GivesAllBlocksOfARunThenLetsItGo) {
  std::vector<void*> out;
  Slab* slab = binned_run(out);
  EXPECT_EQ(bin_.lowest(), slab->base);
  for (uint32_t free = slab->capacity - 1u; free != 0; --free) {
    expect_free(slab, free);
    EXPECT_EQ(bin_.count(), 1u);
    out.push_back(take());
  }
  expect_free(slab, 0);
  EXPECT_EQ(bin_.count(), 0u);
  EXPECT_EQ(bin_.lowest(), 0u);
  EXPECT_EQ(take(), nullptr);
  EXPECT_EQ(std::set<void*>(out.begin(), out.end()).size(), slab->capacity);
  for (void* block : out) EXPECT_TRUE(is_block_start(slab, block));
  test::give_back(slab, out);
}

TEST_F(CommonBin, FreedBlocksComeBeforeNewOnes) {
  std::vector<void*> out;
  Slab* slab = binned_run(out);
  out.push_back(take());
  void* freed = out[0];
  test::give_back(slab, {freed});
  expect_free(slab, slab->capacity - 1u);
  EXPECT_EQ(take(), freed);
  expect_free(slab, slab->capacity - 2u);
  test::give_back(slab, out);
}

TEST_F(CommonBin, AUsedUpRunReturnsWithItsFirstFreedBlock) {
  std::vector<void*> out;
  Slab* slab = binned_run(out);
  while (void* block = take()) out.push_back(block);
  test::give_back(slab, test::take_from(out, 1));
  expect_free(slab, 1);
  EXPECT_EQ(bin_.count(), 1u);
  out.push_back(take());
  expect_free(slab, 0);
  test::give_back(slab, out);
}

TEST_F(CommonBin, TheLastBlockTakesThePagesAlong) {
  std::vector<void*> out;
  Slab* slab = binned_run(out);
  while (void* block = take()) out.push_back(block);
  const size_t used = arena_.pages.counts().used;
  const std::vector<void*> last = test::take_from(out, 1);
  for (void* block : out) test::give_back(slab, {block});
  EXPECT_EQ(arena_.pages.counts().used, used);
  test::give_back(slab, last);
  EXPECT_EQ(arena_.pages.counts().used, used - kShape.pages);
  EXPECT_EQ(bin_.count(), 0u);
}

TEST_F(CommonBin, TheLowestRunGivesFirst) {
  std::vector<void*> out;
  std::vector<Slab*> runs;
  for (int i = 0; i < 3; ++i) runs.push_back(binned_run(out));
  Slab* lowest = *std::min_element(runs.begin(), runs.end(), [](Slab* a, Slab* b) { return a->base < b->base; });
  EXPECT_EQ(bin_.lowest(), lowest->base);
  for (uint32_t i = 1; i < lowest->capacity; ++i) {
    out.push_back(take());
    EXPECT_TRUE(is_block_start(lowest, out.back()));
  }
  out.push_back(take());
  EXPECT_FALSE(is_block_start(lowest, out.back()));
  for (void* block : out) {
    for (Slab* slab : runs) {
      if (slab->base != 0 && is_block_start(slab, block)) {
        test::give_back(slab, {block});
        break;
      }
    }
  }
}

// The mark, or only the link: the end of a list, a block elsewhere, none at all.
TEST_F(CommonBin, AnOverwrittenListEndsTheProgram) {
  const auto take_after = [this](void (*overwrite)(Link*)) {
    std::vector<void*> out;
    Slab* slab = binned_run(out);
    for (int i = 0; i < 2; ++i) out.push_back(take());
    void* last = out.back();
    test::give_back(slab, test::take_from(out, 2));
    overwrite(link_of(last));
    take();
    take();
  };
  const char* message = "a list of free blocks was overwritten";
  EXPECT_DEATH(take_after([](Link* link) { link->hidden ^= uint64_t{0x4141} << kMarkAt; }), message);
  EXPECT_DEATH(take_after([](Link* link) { link->hidden += 1; }), message);
  EXPECT_DEATH(take_after([](Link* link) { link->hidden += 16; }), message);
  EXPECT_DEATH(take_after([](Link* link) { link->hidden += uint32_t{16} << 20; }), message);
}

// --- Threads ----------------------------------------------------------------------------------------------------

// What threads have no use for at the moment serves the others: together they take hardly more runs than one would.
TEST(SharedClasses, ThreadsShareRuns) {
  constexpr int kThreads = 12;
  std::vector<Worker> workers(kThreads);
  std::vector<void*> blocks(kThreads);
  std::set<Slab*> runs;
  for (int i = 0; i < kThreads; ++i) {
    workers[i].run([&] { blocks[i] = acre_malloc(kSharedSize); });
    runs.insert(slab_of(blocks[i]));
  }
  EXPECT_LE(runs.size(), kThreads / kShape.capacity + 2u);
  for (int i = 0; i < kThreads; ++i) workers[i].run([&] { acre_free(blocks[i]); });
}

TEST(SharedClasses, AFewFreedBlocksAreKept) {
  empty_heap(my_heap());
  std::vector<void*> blocks = allocate_shared(10 * kShape.capacity);
  const size_t most = kShape.most_listed;
  ASSERT_EQ(most, 4u);  // 96 KiB
  EXPECT_EQ(private_list_length(my_heap(), kSharedClass), 0u);
  for (size_t i = 0; i < 2 * most; ++i) {
    acre_free(blocks[i]);
    EXPECT_EQ(private_list_length(my_heap(), kSharedClass), smaller(i + 1, most));
  }
  for (size_t i = most; i != 0; --i) EXPECT_EQ(acre_malloc(kSharedSize), blocks[i - 1]) << "the one freed last";
  EXPECT_EQ(private_list_length(my_heap(), kSharedClass), 0u);
  for (size_t i = most; i < 2 * most; ++i) blocks[i] = acre_malloc(kSharedSize);
  release_all(blocks);
}

// Also of another's: the list is bounded, so that nothing drifts from producers to consumers.
TEST(SharedClasses, BlocksOfOtherThreadsAreKeptAsWell) {
  empty_heap(my_heap());
  Worker worker;
  void* block = nullptr;
  worker.run([&] { block = acre_malloc(kSharedSize); });
  acre_free(block);
  EXPECT_EQ(acre_malloc(kSharedSize), block);
  acre_free(block);
  empty_heap(my_heap());
}

TEST(SharedClasses, KeptBlocksGoBackByCollection) {
  empty_heap(my_heap());
  std::vector<void*> blocks = allocate_shared(kShape.capacity);
  release_all(blocks);
  EXPECT_NE(private_list_length(my_heap(), kSharedClass), 0u);
  for (int step = 0; step < 200; ++step) collect_step(my_heap());
  EXPECT_TRUE(my_heap().slots[kSharedClass].head == nullptr);
}

TEST(SharedClasses, BytesAreCounted) {
  Heap& mine = my_heap();
  thread_bytes::look(mine);
  const uint64_t allocated = mine.bytes.allocated;
  const uint64_t freed = mine.bytes.freed;
  std::vector<void*> blocks = allocate_shared(20);
  thread_bytes::look(mine);
  EXPECT_EQ(mine.bytes.allocated - allocated, 20 * kSharedSize);
  EXPECT_EQ(mine.bytes.freed, freed);
  release_all(blocks);
  thread_bytes::look(mine);
  EXPECT_EQ(mine.bytes.allocated - allocated, 20 * kSharedSize);
  EXPECT_EQ(mine.bytes.freed - freed, 20 * kSharedSize);
  empty_heap(mine);
  thread_bytes::look(mine);
  EXPECT_EQ(mine.bytes.allocated - allocated, 20 * kSharedSize);
  EXPECT_EQ(mine.bytes.freed - freed, 20 * kSharedSize);
}

TEST(SharedClasses, DoubleFreesAreFound) {
  EXPECT_DEATH(
      {
        void* block = acre_malloc(kSharedSize);
        acre_free(block);
        acre_free(block);
      },
      "double free: the block of 20480 bytes");
  EXPECT_DEATH(
      {
        std::vector<void*> blocks = allocate_shared(10);
        for (size_t i = 0; i <= kShape.most_listed; ++i) acre_free(blocks[i]);
        acre_free(blocks[kShape.most_listed]);  // not on the private list: that was full
      },
      "double free: the block of 20480 bytes");
}

// Where a sampled block would have come from is told, since that run is what it stands for in the view of pinning.
struct Beside {
  static inline Address told = 0;
  static uint64_t draw(size_t) { return 0; }
  static Ticket allocated(const void*, size_t, Address beside) {
    told = beside;
    return kNoTicket;
  }
  static void freed(Ticket) {}
};

TEST(SharedClasses, TheSamplerIsAskedForTheLowestRun) {
  empty_heap(my_heap());
  std::vector<void*> blocks = allocate_shared(1);
  const Address lowest = my_heap().arena->bin(kSharedClass).lowest();
  ASSERT_NE(lowest, 0u);
  sampler::start({Beside::draw, Beside::allocated, Beside::freed, nullptr});
  Beside::told = 1;
  blocks.push_back(acre_malloc(kSharedSize));
  EXPECT_EQ(Beside::told, lowest);
  sampler::stop();
  release_all(blocks);
}

// Blocks of all shared classes wander among threads that allocate_shared, write, check and free them.
TEST(SharedClasses, NothingIsLostAmongThreads) {
  constexpr unsigned kThreads = 4;
  constexpr unsigned kPlaces = 64;
  constexpr int kSteps = 20000;
  std::vector<std::atomic<uint64_t*>> places(kPlaces);
  std::atomic<bool> torn{false};
  const auto work = [&](unsigned seed) {
    test::Random random(seed);
    for (int step = 0; step < kSteps; ++step) {
      uint64_t* block = nullptr;
      if (!random.one_in(4)) {
        const size_t size = random.between(8193, kSmallMax);
        block = static_cast<uint64_t*>(acre_malloc(size));
        block[0] = size;
        block[1] = address_of(block);
        block[size / 8 - 1] = address_of(block) + size;
      }
      uint64_t* old = places[random.below(kPlaces)].exchange(block);
      if (old == nullptr) continue;
      const size_t size = old[0];
      if (old[1] != address_of(old) || old[size / 8 - 1] != address_of(old) + size) torn = true;
      acre_free(old);
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(work, i + 1);
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(torn);
  for (auto& place : places) acre_free(place.load());
}

}  // namespace
}  // namespace acre
