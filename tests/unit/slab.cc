// slab/transitions and slab/bin: each way from holder to holder, one case each.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "os/os.h"
#include "slab_support.h"

namespace acre {
namespace {

using test::expect_adds_up;
using test::give_back;
using test::kOther;
using test::kOwner;
using test::take_from;

class SlabTest : public testing::Test {
 protected:
  Slab* make(Owner owner = kOwner) {
    Slab* slab = test::make_slab(arena, c, owner);
    EXPECT_NE(slab, nullptr);
    return slab;
  }
  size_t used_pages() { return arena.pages.counts().used; }
  Bin& bin() { return arena.bin(c); }
  static RunState state(const Slab* slab) { return load_remote(slab).state; }

  // A run all of whose blocks are out, given up by its owner.
  Slab* make_full(std::vector<void*>* blocks) {
    Slab* slab = make();
    *blocks = test::carve_all(slab);
    slab::release(slab);
    EXPECT_EQ(state(slab), RunState::kFull);
    return slab;
  }

  const SizeClass c = class_of_size(1000);
  const RunShape& shape = run_shape(c);
  Arena& arena = test::new_arena();
};

TEST(SlabOfEachClass, IsMadeCutAndReturned) {
  Arena& arena = test::new_arena();
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    Slab* slab = test::make_slab(arena, c);
    ASSERT_NE(slab, nullptr);
    EXPECT_EQ(slab->base, slab->run->base);
    EXPECT_TRUE(is_aligned(slab->base, kRunUnitPages * kPageBytes));
    EXPECT_EQ(arena_of(slab), &arena);
    expect_adds_up(slab, 0);
    std::vector<void*> blocks = test::carve(slab, run_shape(c).first_batch);
    expect_adds_up(slab, blocks.size());
    for (void* block : test::carve_all(slab)) blocks.push_back(block);
    expect_adds_up(slab, blocks.size());
    ASSERT_EQ(blocks.size(), run_shape(c).capacity);
    ASSERT_EQ(std::set<void*>(blocks.begin(), blocks.end()).size(), blocks.size());
    for (void* block : blocks) {
      ASSERT_TRUE(is_block_start(slab, block));
      ASSERT_GE(address_of(block), slab->run->base);
      ASSERT_LE(address_of(block) + slab->block_bytes, slab->run->end());
      ASSERT_TRUE(is_aligned(address_of(block), largest_power_of_two_in(size_of_class(c))));
      ASSERT_EQ(g_page_map.find(block)->slab, slab);
      memset(block, 0xff, slab->block_bytes);
    }
    for (void* block : blocks) slab::defer(slab, block);
    expect_adds_up(slab, 0);
    slab::release(slab);
    EXPECT_EQ(arena.pages.counts().used, 0u) << size_of_class(c);
    EXPECT_FALSE(is_block_start(slab, blocks[0])) << "a run that is gone has no blocks";
    EXPECT_FALSE(is_block_start(slab, nullptr));
  }
  EXPECT_TRUE(test::pages_add_up(arena.pages.counts()));
}

TEST_F(SlabTest, DeferredBlocksComeBackLastFirst) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 10);
  for (size_t i = 0; i < 4; ++i) slab::defer(slab, blocks[i]);
  expect_adds_up(slab, 6);
  std::vector<void*> again = test::blocks_of(slab, slab::take_deferred(slab));
  expect_adds_up(slab, 10);
  EXPECT_EQ(again, (std::vector<void*>{blocks[3], blocks[2], blocks[1], blocks[0]}));
}

TEST_F(SlabTest, CarvedBlocksGoBeforeTheTail) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 3);
  slab::defer(slab, blocks[1]);
  Link* tail = slab::take_deferred(slab);
  std::vector<void*> list = test::blocks_of(slab, slab::carve(slab, 2, tail));
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2], blocks[1]);
  expect_adds_up(slab, 5);
}

TEST_F(SlabTest, AReturnedListIsDeferred) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 3);
  slab::defer(slab, blocks[0]);
  expect_adds_up(slab, 2);
  slab::return_list(slab, slab::carve(slab, 5, nullptr));
  expect_adds_up(slab, 2);
  EXPECT_EQ(slab::deferred_count(slab), 6u);
}

TEST_F(SlabTest, RemoteBlocksCountAsUsedUntilCollected) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 12);
  std::vector<void*> first = take_from(blocks, 5), second = take_from(blocks, 1);
  give_back(slab, first);
  expect_adds_up(slab, 7);
  give_back(slab, second);
  expect_adds_up(slab, 6);
  EXPECT_EQ(load_remote(slab).free, 6u);
  std::vector<void*> list = test::collect(slab);
  EXPECT_EQ(list.size(), 6u);
  EXPECT_EQ(load_remote(slab).free, 0u);
  expect_adds_up(slab, 12);
}

TEST_F(SlabTest, OnlyItsLastOwnerAdoptsAFullRun) {
  std::vector<void*> blocks;
  Slab* slab = make_full(&blocks);
  EXPECT_FALSE(slab::adopt(slab, kOther));
  EXPECT_EQ(slab->owner, kNoThread);
  ASSERT_TRUE(slab::adopt(slab, kOwner));
  EXPECT_EQ(slab->owner, kOwner.token);
  expect_adds_up(slab, shape.capacity);
  EXPECT_FALSE(slab::adopt(slab, kOwner)) << "it is owned";
}

TEST_F(SlabTest, AdoptedWithRemoteAndLocalBlocks) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve_all(slab);
  ASSERT_GE(shape.enough, 3);
  slab::defer(slab, take_from(blocks, 1)[0]);
  slab::release(slab);
  EXPECT_EQ(load_remote(slab).free, 1u);
  EXPECT_EQ(load_remote(slab).local, 1u);
  give_back(slab, take_from(blocks, 1));
  EXPECT_EQ(load_remote(slab).free, 2u);
  EXPECT_EQ(load_remote(slab).local, 1u);
  ASSERT_TRUE(slab::adopt(slab, kOwner));
  EXPECT_EQ(slab::deferred_count(slab), 1u);
  expect_adds_up(slab, blocks.size());
}

TEST_F(SlabTest, ReleasedWithEnoughFreeItGoesToTheBin) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, shape.capacity - shape.enough);
  slab::release(slab);
  EXPECT_EQ(state(slab), RunState::kBinned);
  EXPECT_EQ(bin().count(), 1u);
  EXPECT_FALSE(slab::adopt(slab, kOwner)) << "who wants it takes it from the bin";
  ASSERT_EQ(bin().take(kOther, 1).run, slab);
  EXPECT_EQ(slab->owner, kOther.token);
  EXPECT_EQ(bin().count(), 0u);
  expect_adds_up(slab, blocks.size());
}

TEST_F(SlabTest, AFullRunIsOfferedWhenEnoughIsFree) {
  std::vector<void*> blocks;
  Slab* slab = make_full(&blocks);
  for (uint32_t i = 1; i < shape.enough; ++i) {
    give_back(slab, take_from(blocks, 1));
    ASSERT_EQ(state(slab), RunState::kFull);
    ASSERT_TRUE(bin().seems_empty());
  }
  give_back(slab, take_from(blocks, 1));
  EXPECT_EQ(state(slab), RunState::kBinned);
  ASSERT_EQ(bin().take(kOther, 1).run, slab);
  expect_adds_up(slab, blocks.size());
}

TEST_F(SlabTest, TheLastBlocksReturnThePagesOfAFullRun) {
  std::vector<void*> blocks;
  Slab* slab = make_full(&blocks);
  give_back(slab, blocks);  // all in one group: it never is in the bin
  EXPECT_EQ(used_pages(), 0u);
  EXPECT_TRUE(bin().seems_empty());
}

TEST_F(SlabTest, TheLastBlockReturnsThePagesOfABinnedRun) {
  std::vector<void*> blocks;
  Slab* slab = make_full(&blocks);
  while (blocks.size() > 1) give_back(slab, take_from(blocks, 1));
  EXPECT_EQ(bin().count(), 1u);
  EXPECT_EQ(used_pages(), shape.pages);
  give_back(slab, blocks);
  EXPECT_EQ(bin().count(), 0u);
  EXPECT_EQ(used_pages(), 0u);
}

TEST_F(SlabTest, ReleasedWithAllBlocksFreeItIsReturned) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 7);
  give_back(slab, take_from(blocks, 3));
  for (void* block : blocks) slab::defer(slab, block);
  slab::release(slab);
  EXPECT_EQ(used_pages(), 0u);
  EXPECT_EQ(arena.pages.counts().dirty, shape.pages);
}

// Between the change of the word to kBinned and the offer, others may give the rest back: they find the run in
// no bin yet, and leave it to the offer.
TEST_F(SlabTest, AnOfferOfARunWhoseBlocksAreAllFreeIsReturned) {
  std::vector<void*> blocks;
  Slab* slab = make_full(&blocks);
  std::vector<void*> last = take_from(blocks, 1);
  test::Group group(blocks);
  group.last->set_next(nullptr);
  RemoteWord full = load_remote(slab);
  const RemoteWord binned{RunState::kBinned, group.count, 0, head_of(slab, group.head)};
  while (!change_remote(slab, full, binned)) {
  }
  give_back(slab, last);
  EXPECT_EQ(used_pages(), shape.pages);
  EXPECT_TRUE(bin().offer(slab)) << "it is the caller's";
  EXPECT_TRUE(bin().seems_empty());
  slab::free_pages(slab);
  EXPECT_EQ(used_pages(), 0u);
}

TEST_F(SlabTest, TheBinHandsOutTheLowestRun) {
  std::vector<Slab*> slabs;
  for (int i = 0; i < 20; ++i) {
    slabs.push_back(make());
    test::carve(slabs.back(), 1);
  }
  std::vector<Slab*> sorted = slabs;
  std::sort(sorted.begin(), sorted.end(), [](Slab* a, Slab* b) { return a->base < b->base; });
  test::Random random(5);
  for (size_t i = slabs.size(); i != 0; --i) {
    std::swap(slabs[random.below(i)], slabs[i - 1]);
    slab::release(slabs[i - 1]);
  }
  EXPECT_EQ(bin().count(), 20u);
  for (Slab* slab : sorted) ASSERT_EQ(bin().take(kOther, 1).run, slab);
  EXPECT_EQ(bin().take(kOther, 1).run, nullptr);
}

TEST_F(SlabTest, ReclaimOfARunThatIsNotInTheBin) {
  Slab* slab = make();
  EXPECT_FALSE(bin().reclaim(slab)) << "owned";
  std::vector<void*> blocks = test::carve(slab, 1);
  slab::release(slab);
  EXPECT_FALSE(bin().reclaim(slab)) << "a block is out";
  Arena& elsewhere = test::new_arena();
  EXPECT_FALSE(elsewhere.bin(c).reclaim(slab)) << "in another bin";
  EXPECT_EQ(bin().count(), 1u);
  give_back(slab, blocks);
  EXPECT_EQ(used_pages(), 0u);
  EXPECT_FALSE(bin().reclaim(slab)) << "gone";
}

TEST_F(SlabTest, AHeaderServesTheNextRun) {
  for (int i = 0; i < 3; ++i) {
    Slab* slab = make(i % 2 == 0 ? kOwner : kOther);
    const SizeClass next = static_cast<SizeClass>(i * 7);
    std::vector<void*> blocks = test::carve_all(slab);
    give_back(slab, blocks);
    slab::release(slab);
    Slab* other = test::make_slab(arena, next);
    ASSERT_NE(other, nullptr);
    expect_adds_up(other, 0);
    EXPECT_EQ(other->block_bytes, size_of_class(next));
    slab::free_pages(other);
    EXPECT_EQ(used_pages(), 0u);
  }
}

using SlabDeathTest = SlabTest;

TEST_F(SlabDeathTest, AnOverwrittenListEndsTheProgram) {
  Slab* slab = make();
  std::vector<void*> blocks = test::carve(slab, 6);
  for (size_t i = 0; i < 4; ++i) slab::defer(slab, blocks[i]);
  static constexpr char kMessage[] = "acre: a list of free blocks was overwritten";
  Link* victim = link_of(blocks[2]);
  const Link sound = *victim;
  EXPECT_EQ(test::list_length(slab, slab->deferred), 4u);
  victim->set_next(link_of(blocks[3]));
  EXPECT_DEATH(walk_list(slab, slab->deferred), kMessage) << "a circle";
  victim->set_next(link_of(address_of(blocks[1]) + 8));
  EXPECT_DEATH(walk_list(slab, slab->deferred), kMessage) << "into a block";
  victim->set_next(link_of(Address{0x41414140}));
  EXPECT_DEATH(walk_list(slab, slab->deferred), kMessage) << "out of the run";
  *victim = sound;
  victim->hidden ^= uint64_t{1} << kMarkAt;
  EXPECT_DEATH(walk_list(slab, slab->deferred), kMessage) << "without a mark";
}

}  // namespace
}  // namespace acre
