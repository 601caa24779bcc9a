// cache/outbox: blocks wait in groups, arrive together, and never wait in bulk.
#include "cache/outbox.h"

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
  for (size_t size : {16u, 48u, 500u, 2048u, 4096u}) {
    std::vector<void*> blocks;
    Slab* slab = make(size, &blocks);
    const size_t group = larger<size_t>(1, 16384 / slab->block_bytes);
    for (size_t added = 1; added < blocks.size(); ++added) {  // one stays out
      const uint32_t before = arrived(slab);
      const bool sorted = outbox.add(slab, blocks[added]);
      ASSERT_TRUE(sorted || arrived(slab) == before);
      ASSERT_EQ(arrived(slab) % group, 0u) << added << " of " << size;
      ASSERT_LE((added - arrived(slab)) * slab->block_bytes, size_t{32} << 10);
      ASSERT_EQ(outbox.holds(slab, blocks[added]), arrived(slab) < added);
    }
    const uint32_t waiting = static_cast<uint32_t>(blocks.size()) - 1 - arrived(slab);
    EXPECT_LT(waiting * slab->block_bytes, size_t{32} << 10);
    outbox.flush();
    ASSERT_EQ(arrived(slab), blocks.size() - 1);
    test::expect_adds_up(slab, 1);
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

TEST_F(OutboxTest, BlocksAreSortedSixteenAtATime) {
  std::vector<void*> blocks[2];
  Slab* slabs[] = {make(64, &blocks[0]), make(64, &blocks[1])};
  for (size_t i = 0; i < 16; ++i) {
    ASSERT_EQ(arrived(slabs[0]) + arrived(slabs[1]), 0u) << i;
    ASSERT_EQ(outbox.add(slabs[i % 2], blocks[i % 2][i]), i == 15);
    ASSERT_EQ(outbox.total_bytes(), (i + 1) * 64);
  }
  EXPECT_EQ(arrived(slabs[0]), 8u) << "each gave way to the other run";
  EXPECT_EQ(arrived(slabs[1]), 7u);
  EXPECT_EQ(outbox.sent(slabs[0]->size_class), 15u);
  EXPECT_FALSE(outbox.holds(slabs[1], blocks[1][13]));
  EXPECT_TRUE(outbox.holds(slabs[1], blocks[1][15]));
  outbox.flush();
  EXPECT_EQ(arrived(slabs[1]), 8u);
  EXPECT_EQ(outbox.total_bytes(), 16u * 64);
}

TEST_F(OutboxTest, WhatWaitsIsKnown) {
  std::vector<void*> first_blocks, second_blocks;
  Slab* first = make(64, &first_blocks);
  Slab* second = make(128, &second_blocks);
  size_t waiting = 0;
  const auto add_up = [&](const Slab*, uint32_t blocks) { waiting += blocks; };
  for (size_t i = 0; i < 40; ++i) {
    Slab* slab = i % 3 == 0 ? second : first;
    void* block = i % 3 == 0 ? second_blocks[i] : first_blocks[i];
    outbox.add(slab, block);
    EXPECT_TRUE(outbox.holds(slab, block));
    EXPECT_FALSE(outbox.holds(slab, first_blocks[i + 100]));
    waiting = 0;
    outbox.for_each_waiting(add_up);
    EXPECT_EQ(waiting, i + 1);
  }
  outbox.flush();
  EXPECT_EQ(arrived(first), 26u);
  EXPECT_EQ(arrived(second), 14u);
  outbox.for_each_waiting([](const Slab*, uint32_t) { ADD_FAILURE() << "nothing waits any more"; });
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
