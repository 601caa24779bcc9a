// slab/word: the remote word holds what it is given, at the extremes of each field.
#include "slab/word.h"

#include <gtest/gtest.h>

#include "slab/geometry.h"
#include "support.h"

namespace acre {
namespace {

void expect_round_trip(const RemoteWord& word) {
  const RemoteWord back = RemoteWord::unpack(word.pack());
  EXPECT_EQ(back.state, word.state);
  EXPECT_EQ(back.free, word.free);
  EXPECT_EQ(back.local, word.local);
  EXPECT_EQ(back.head, word.head);
}

TEST(RemoteWord, RoundTripAtTheExtremes) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const uint32_t capacity = run_shape(c).capacity;
    const uint32_t last = static_cast<uint32_t>((capacity - 1) * size_of_class(c) / 8 + 1);
    for (RunState state : {RunState::kOwned, RunState::kFull, RunState::kBinned, RunState::kSharedFull,
                           RunState::kSharedBinned}) {
      for (uint32_t free : {0u, 1u, capacity - 1, capacity}) {
        for (uint32_t local : {0u, 1u, free, capacity}) {
          for (uint32_t head : {0u, 1u, last}) expect_round_trip({state, free, local, head});
        }
      }
    }
  }
}

TEST(RemoteWord, FieldsDoNotTouchEachOther) {
  EXPECT_EQ(RemoteWord{}.pack(), 0u);
  const RemoteWord full{RunState::kBinned, 0x7fff, 0x7fff, 0x1ffff};
  expect_round_trip(full);
  const uint64_t parts = RemoteWord{RunState::kBinned, 0, 0, 0}.pack() ^ RemoteWord{RunState::kOwned, 0x7fff, 0, 0}.pack() ^
                         RemoteWord{RunState::kOwned, 0, 0x7fff, 0}.pack() ^ RemoteWord{RunState::kOwned, 0, 0, 0x1ffff}.pack();
  EXPECT_EQ(parts, full.pack());
}

TEST(RemoteWord, HeadNamesABlock) {
  Slab slab;
  slab.base = (Address{0x7f12} << 32) + 0xfff80000;  // the last run below a multiple of 4 GiB
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    for (uint32_t block = 0; block < run_shape(c).capacity; ++block) {
      const Address start = slab.base + block * size_of_class(c);
      RemoteWord word;
      word.head = head_of(&slab, link_of(start));
      ASSERT_NE(word.head, 0u);
      ASSERT_EQ(RemoteWord::unpack(word.pack()).head, word.head);
      ASSERT_EQ(address_of(head_block(&slab, word)), start);
    }
  }
  EXPECT_TRUE(head_block(&slab, RemoteWord{}) == nullptr);
}

TEST(RemoteWord, ChangeSucceedsOnlyFromWhatIsThere) {
  Slab slab;
  reset_remote(&slab);
  RemoteWord from = load_remote(&slab);
  RemoteWord to{RunState::kFull, 3, 2, 1};
  while (!change_remote(&slab, from, to)) {  // it may fail for nothing
  }
  EXPECT_EQ(load_remote(&slab).pack(), to.pack());

  RemoteWord stale;
  EXPECT_FALSE(change_remote(&slab, stale, RemoteWord{RunState::kBinned, 5, 0, 0}));
  EXPECT_EQ(stale.pack(), to.pack()) << "what is there now";
  EXPECT_EQ(load_remote(&slab).pack(), to.pack());
}

}  // namespace
}  // namespace acre
