// cache/refill: where many threads share an arena, each begins with a few blocks of a class, of runs
// that it leaves to the others.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <vector>

#include "cache/registry.h"
#include "cache/thread_bytes.h"
#include "cache/verify.h"
#include "heap_support.h"
#include "slab_support.h"
#include "worker.h"

namespace acre {
namespace {

using test::my_heap;
using test::slab_of;
using test::Worker;

constexpr size_t kCrowdSize = 80;
const SizeClass kCrowdClass = class_of_size(kCrowdSize);
constexpr int kCrowd = 100;

const RunLists& lists_of_crowd() { return my_heap().use(kCrowdClass).lists; }

class Crowd : public testing::Test {
 protected:
  void SetUp() override {
    arenas::count_threads(*arena_, kCrowd);
    empty_heap(my_heap());
  }
  void TearDown() override {
    for (void* block : blocks_) acre_free(block);
    arenas::count_threads(*arena_, -kCrowd);
    empty_heap(my_heap());
  }
  void* allocate() {
    blocks_.push_back(acre_malloc(kCrowdSize));
    return blocks_.back();
  }

  Arena* arena_ = my_heap().arena;
  std::vector<void*> blocks_;
};

TEST_F(Crowd, BlocksComeOneThenTwoThenMoreAndThenARun) {
  const uint64_t refills = registry::events_of(my_heap(), kCrowdClass).refills;
  for (size_t times = 1, total = 0; times <= 8; ++times) {
    total += smaller<size_t>(size_t{1} << (times - 1), run_shape(kCrowdClass).first_batch);
    while (blocks_.size() < total) allocate();
    EXPECT_EQ(registry::events_of(my_heap(), kCrowdClass).refills - refills, times);
    EXPECT_EQ(lists_of_crowd().current, nullptr);
    EXPECT_EQ(slab_of(blocks_.back())->owner, kNoThread);
  }
  allocate();
  ASSERT_NE(lists_of_crowd().current, nullptr);
  EXPECT_EQ(lists_of_crowd().current->owner, this_thread());
  EXPECT_EQ(std::set<void*>(blocks_.begin(), blocks_.end()).size(), blocks_.size());
}

TEST_F(Crowd, ThreadsShareRuns) {
  Worker worker;
  void* theirs = nullptr;
  worker.run([&] {
    registry::move_to_arena(my_heap(), arena_);
    theirs = acre_malloc(kCrowdSize);
  });
  const Slab* run = slab_of(allocate());
  EXPECT_EQ(run, slab_of(theirs));
  worker.run([&] { acre_free(theirs); });
}

TEST_F(Crowd, WithoutOneAThreadHasItsRunAtOnce) {
  arenas::count_threads(*arena_, -kCrowd);
  const Slab* run = slab_of(allocate());
  EXPECT_EQ(run, lists_of_crowd().current);
  arenas::count_threads(*arena_, kCrowd);
}

// What others have freed in the run, or the thread itself, comes before what was never used.
TEST_F(Crowd, FreedBlocksAreUsedAgain) {
  for (int i = 0; i < 7; ++i) allocate();
  Slab* run = slab_of(blocks_.front());
  const uint32_t carved = run->carved;
  Worker worker;
  worker.run([&] {
    while (blocks_.size() != 1) {
      acre_free(blocks_.back());
      blocks_.pop_back();
    }
    my_heap().outbox().flush();
  });
  while (blocks_.size() < 7) {
    ASSERT_EQ(slab_of(allocate()), run);
    EXPECT_EQ(run->carved, carved);
  }
}

TEST_F(Crowd, BytesAndListsAddUp) {
  Heap& mine = my_heap();
  thread_bytes::look(mine);
  const uint64_t allocated = mine.bytes.allocated;
  const uint64_t freed = mine.bytes.freed;
  test::Random random(1);
  uint64_t frees = 0, mallocs = 0;
  for (int step = 0; step < 2000; ++step) {
    if (random.one_in(2) || blocks_.empty()) {
      allocate();
      ++mallocs;
    } else {
      std::swap(blocks_[random.below(blocks_.size())], blocks_.back());
      acre_free(blocks_.back());
      blocks_.pop_back();
      ++frees;
    }
    if (random.one_in(100)) empty_heap(mine);
    ASSERT_TRUE(lists_are_whole(mine));
  }
  thread_bytes::look(mine);
  EXPECT_EQ(mine.bytes.allocated - allocated, mallocs * size_of_class(kCrowdClass));
  EXPECT_EQ(mine.bytes.freed - freed, frees * size_of_class(kCrowdClass));
}

// In a child of fork only the forking thread is left: what the others may not have touched does not count there.
TEST_F(Crowd, AChildHasOneThread) {
  Worker worker;
  Arena* theirs = nullptr;
  void* block = nullptr;
  worker.run([&] {
    block = acre_malloc(kCrowdSize);
    theirs = my_heap().arena;
  });
  if (theirs == arena_) GTEST_SKIP() << "there is one arena alone";
  ASSERT_LT(theirs->pages.touched_pages(), theirs->pages.used_pages());
  const pid_t child = fork();
  if (child == 0) _exit(theirs->threads == 0 && theirs->pages.touched_pages() == theirs->pages.used_pages() ? 0 : 1);
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  worker.run([&] { acre_free(block); });
}

// --- Bin::take_blocks -----------------------------------------------------------------------------------------

class TakeBlocks : public testing::Test {
 protected:
  std::vector<void*> take(uint32_t count) {
    const BlockList taken = bin().take_blocks(count);
    std::vector<void*> blocks = test::blocks_of(slab_, taken.head);
    EXPECT_EQ(taken.count, blocks.size());
    return blocks;
  }
  Bin& bin() { return arena_.bin(kCrowdClass); }
  uint32_t free() const { return load_remote(slab_).free; }
  bool is_in_bin() { return is_binned(load_remote(slab_).state); }

  // With so many blocks in the program's hands, and these deferred.
  std::vector<void*> release_after(uint32_t blocks, uint32_t deferred) {
    std::vector<void*> carved = test::carve(slab_, blocks + deferred);
    for (uint32_t i = 0; i < deferred; ++i) slab::defer(slab_, carved[blocks + i]);
    slab::release(slab_);
    return carved;
  }

  Arena& arena_ = test::new_arena();
  Slab* slab_ = test::make_slab(arena_, kCrowdClass);
};

TEST_F(TakeBlocks, NeverUsedOnes) {
  release_after(2, 0);
  EXPECT_EQ(take(5).size(), 5u);
  EXPECT_EQ(slab_->carved, 7u);
  EXPECT_EQ(free(), slab_->capacity - 7u);
}

TEST_F(TakeBlocks, ThoseThatTheLastOwnerFreed) {
  const std::vector<void*> blocks = release_after(2, 6);
  EXPECT_EQ(take(4), (std::vector<void*>{blocks[7], blocks[6], blocks[5], blocks[4]}));
  EXPECT_EQ(take(4), (std::vector<void*>{blocks[3], blocks[2]}));
  EXPECT_EQ(slab_->carved, 8u);
  EXPECT_EQ(free(), slab_->capacity - 8u);
}

TEST_F(TakeBlocks, ThoseThatOthersFreedFirst) {
  const std::vector<void*> blocks = release_after(10, 1);
  test::give_back(slab_, {blocks[0], blocks[1], blocks[2]});
  EXPECT_EQ(take(2).size(), 2u);
  EXPECT_EQ(take(2).size(), 1u);
  EXPECT_EQ(take(2), std::vector<void*>{blocks[10]});
  EXPECT_EQ(free(), slab_->capacity - 11u);
}

TEST_F(TakeBlocks, TheRunLeavesTheBinWhenTooLittleIsFree) {
  const uint32_t enough = slab_->enough;
  const std::vector<void*> blocks = release_after(2, 0);
  EXPECT_EQ(take(slab_->capacity - 2 - enough).size(), slab_->capacity - 2 - enough);
  EXPECT_TRUE(is_in_bin());
  EXPECT_EQ(take(1).size(), 1u);
  EXPECT_FALSE(is_in_bin());
  EXPECT_EQ(take(1).size(), 0u);
  EXPECT_EQ(free(), enough - 1);
  test::give_back(slab_, {blocks[0]});
  EXPECT_TRUE(is_in_bin());
  EXPECT_TRUE(slab::adopt(slab_, test::kOwner) == false) << "it is in the bin";
}

// The next owner finds the counts right, whoever took blocks meanwhile.
TEST_F(TakeBlocks, TheNextOwnersCountsAddUp) {
  const std::vector<void*> blocks = release_after(3, 5);
  EXPECT_EQ(take(2).size(), 2u);
  ASSERT_EQ(bin().take(test::kOther, 1).run, slab_);
  test::expect_adds_up(slab_, 5);
}

}  // namespace
}  // namespace acre
