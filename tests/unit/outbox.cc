// heap/outbox: blocks wait in groups, arrive together, and never wait in bulk.
#include "heap/outbox.h"

#include <gtest/gtest.h>

#include "slab_support.h"

namespace acre {
namespace {

class OutboxTest : public testing::Test {
 protected:
  // A run that somebody else owns, with all blocks out.
  Slab* make(size_t size, std::vector<void*>* blocks) {
    Slab* slab = test::make_slab(arena, class_of_size(size), test::kOther);
    EXPECT_NE(slab, nullptr);
    *blocks = test::carve_all(slab);
    return slab;
  }
  static uint32_t arrived(const Slab* slab) { return load_remote(slab).free; }

  Arena& arena = test::new_arena();
  Outbox outbox;
};

TEST_F(OutboxTest, AGroupWaitsUntilItHolds16KiB) {
  for (size_t size : {16u, 48u, 500u, 2048u, 4096u, 5000u, 32768u}) {
    std::vector<void*> blocks;
    Slab* slab = make(size, &blocks);
    const size_t most = smaller<size_t>(blocks.size() - 1, larger<size_t>(1, 16384 / slab->block_bytes));
    for (size_t i = 1; i < most; ++i) {
      ASSERT_FALSE(outbox.add(slab, blocks[i]));
      ASSERT_EQ(arrived(slab), 0u) << i << " of " << size;
      ASSERT_TRUE(outbox.holds(slab, blocks[i]));
    }
    ASSERT_TRUE(outbox.add(slab, blocks[0]));
    ASSERT_EQ(arrived(slab), most);
    EXPECT_FALSE(outbox.holds(slab, blocks[0]));
    test::expect_adds_up(slab, blocks.size() - most);
  }
}

TEST_F(OutboxTest, FlushSendsEverything) {
  std::vector<Slab*> slabs;
  for (int i = 0; i < 6; ++i) {
    std::vector<void*> blocks;
    slabs.push_back(make(64u << i, &blocks));
    for (size_t block = 0; block < 3; ++block) outbox.add(slabs.back(), blocks[block]);
  }
  for (Slab* slab : slabs) EXPECT_EQ(arrived(slab), 0u);
  outbox.flush();
  for (Slab* slab : slabs) EXPECT_EQ(arrived(slab), 3u);
  outbox.flush();  // empty
  for (Slab* slab : slabs) EXPECT_EQ(arrived(slab), 3u);
}

TEST_F(OutboxTest, AGroupThatGivesWayToAnotherRunWaitsInAQueue) {
  std::vector<void*> first_blocks, second_blocks, larger_blocks;
  Slab* first = make(64, &first_blocks);
  Slab* second = make(64, &second_blocks);
  Slab* larger_one = make(128, &larger_blocks);
  EXPECT_FALSE(outbox.add(first, first_blocks[0]));
  EXPECT_FALSE(outbox.add(larger_one, larger_blocks[0]));
  EXPECT_TRUE(outbox.holds(first, first_blocks[0])) << "another class has another group";
  EXPECT_TRUE(outbox.add(second, second_blocks[0]));
  EXPECT_EQ(arrived(first), 0u);
  EXPECT_TRUE(outbox.holds(first, first_blocks[0]));
  EXPECT_FALSE(outbox.holds(first, first_blocks[1]));
  EXPECT_TRUE(outbox.holds(second, second_blocks[0]));
  EXPECT_EQ(outbox.total_bytes(), 64u + 64 + 128);
  size_t waiting = 0;
  outbox.for_each_waiting([&](const Slab*, uint32_t blocks) { waiting += blocks; });
  EXPECT_EQ(waiting, 3u);
  outbox.flush();
  EXPECT_EQ(arrived(first), 1u);
  EXPECT_EQ(arrived(second), 1u);
  EXPECT_EQ(arrived(larger_one), 1u);
  EXPECT_FALSE(outbox.holds(first, first_blocks[0]));
  EXPECT_EQ(outbox.total_bytes(), 64u + 64 + 128);
  outbox.for_each_waiting([&](const Slab*, uint32_t) { ADD_FAILURE() << "nothing waits any more"; });
}

TEST_F(OutboxTest, TheQueueIsSentOffWhenItIsFull) {
  constexpr size_t kQueue = 16;
  std::vector<void*> blocks[2];
  Slab* slabs[] = {make(64, &blocks[0]), make(64, &blocks[1])};
  for (size_t i = 0; i <= kQueue; ++i) {
    outbox.add(slabs[i % 2], blocks[i % 2][i]);
    ASSERT_EQ(arrived(slabs[0]) + arrived(slabs[1]), 0u) << i;
  }
  outbox.add(slabs[1], blocks[1][kQueue + 1]);
  EXPECT_EQ(arrived(slabs[0]), kQueue / 2);
  EXPECT_EQ(arrived(slabs[1]), kQueue / 2);
  EXPECT_EQ(outbox.sent(slabs[0]->size_class), kQueue);
  outbox.flush();
  for (size_t i : {0u, 1u}) {
    EXPECT_EQ(arrived(slabs[i]), kQueue / 2 + 1);
    test::expect_adds_up(slabs[i], blocks[i].size() - kQueue / 2 - 1);
  }
}

TEST_F(OutboxTest, ItNeverHoldsMuch) {
  test::Random random(9);
  struct Known {
    Slab* slab;
    std::vector<void*> blocks;
    size_t added = 0;
  };
  std::vector<Known> known(100);
  for (Known& each : known) {
    each.slab = make(random.one_in(2) ? random.between(1, 200) : random.between(200, 3000), &each.blocks);
  }
  size_t most = 0;
  for (int step = 0; step < 20000; ++step) {
    Known& each = known[random.below(known.size())];
    if (each.blocks.size() <= 1) continue;  // one stays out, so that no run is ever returned
    outbox.add(each.slab, test::take_from(each.blocks, 1)[0]);
    ++each.added;
    if (step % 16 != 0) continue;
    size_t waiting = 0;
    for (const Known& run : known) waiting += (run.added - arrived(run.slab)) * run.slab->block_bytes;
    most = larger(most, waiting);
  }
  EXPECT_GT(most, 0u);
  EXPECT_LE(most, size_t{64} << 10);
  outbox.flush();
  for (const Known& run : known) ASSERT_EQ(arrived(run.slab), run.added);
}

TEST_F(OutboxTest, TheLastBlockOfAReleasedRunReturnsItsPages) {
  std::vector<void*> blocks;
  Slab* slab = make(1024, &blocks);
  slab::release(slab);
  for (void* block : blocks) outbox.add(slab, block);
  outbox.flush();
  EXPECT_EQ(arena.pages.counts().used, 0u);
}

}  // namespace
}  // namespace acre
