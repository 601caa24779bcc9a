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

TEST_F(OutboxTest, AGroupWaitsUntilItHolds4KiB) {
  for (size_t size : {16u, 48u, 500u, 2048u, 4096u, 5000u, 32768u}) {
    std::vector<void*> blocks;
    Slab* slab = make(size, &blocks);
    const size_t most = larger<size_t>(1, 4096 / slab->block_bytes);
    for (size_t i = 1; i < most; ++i) {
      outbox.add(slab, blocks[i]);
      ASSERT_EQ(arrived(slab), 0u) << i << " of " << size;
      ASSERT_TRUE(outbox.holds(slab, blocks[i]));
    }
    outbox.add(slab, blocks[0]);
    ASSERT_EQ(arrived(slab), most);
    EXPECT_FALSE(outbox.holds(slab, blocks[0]));
    test::expect_adds_up(slab, blocks.size() - most);
  }
}

TEST_F(OutboxTest, FlushSendsEverything) {
  std::vector<Slab*> slabs;
  for (int i = 0; i < 8; ++i) {
    std::vector<void*> blocks;
    slabs.push_back(make(64, &blocks));
    for (size_t block = 0; block < 5; ++block) outbox.add(slabs.back(), blocks[block]);
  }
  outbox.flush();
  for (Slab* slab : slabs) EXPECT_EQ(arrived(slab), 5u);
  outbox.flush();  // empty
  for (Slab* slab : slabs) EXPECT_EQ(arrived(slab), 5u);
}

TEST_F(OutboxTest, AnotherRunInTheSamePlaceSendsTheGroupOff) {
  std::vector<void*> blocks;
  Slab* first = make(64, &blocks);
  outbox.add(first, blocks[0]);
  std::vector<Slab*> others;
  while (arrived(first) == 0) {
    ASSERT_LT(others.size(), 1000u) << "no other run ever came to the same place";
    std::vector<void*> their_blocks;
    others.push_back(make(64, &their_blocks));
    outbox.add(others.back(), their_blocks[0]);
    EXPECT_TRUE(outbox.holds(others.back(), their_blocks[0]));
  }
  EXPECT_EQ(arrived(first), 1u);
  EXPECT_FALSE(outbox.holds(first, blocks[0]));
  outbox.flush();
  for (Slab* slab : others) EXPECT_EQ(arrived(slab), 1u);
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
