// manual/request and the functions on it: sizes, alignment, zeroes and places to the byte.
#include "manual/request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/large.h"
#include "cache/lookup.h"
#include "cache/registry.h"
#include "sample/profile.h"
#include "support.h"

namespace acre {
namespace {

void fill(void* block, size_t bytes, unsigned char value) { memset(block, value, bytes); }
bool all_are(const void* block, size_t from, size_t to, unsigned char value) {
  const auto* bytes = static_cast<const unsigned char*>(block);
  return std::all_of(bytes + from, bytes + to, [value](unsigned char byte) { return byte == value; });
}
unsigned arena_of_block(const void* p) {
  const Found found = find_block(p);
  if (found.slab != nullptr) return arena_of(found.slab)->index;
  return arena_of(found.run)->index;
}

const size_t kSizesAsked[] = {1, 8, 9, 16, 17, 100, 128, 129, 1000, 1024, 1025, 4096, 5000, 16385, 32767, 32768, 32769,
                         36864, 36865, 100000, kMiB, kMiB + 1, 5 * kMiB, 64 * kMiB, 64 * kMiB + 1, 80 * kMiB};
const size_t kTouched = std::size(kSizesAsked) - 4;  // the first so many, where all bytes are written and read

// --- Flags --------------------------------------------------------------------------------------------------------

// What compiled programs pass: these bits are jemalloc's.
TEST(Mallocx, FlagsHaveJemallocsBits) {
  EXPECT_EQ(MALLOCX_LG_ALIGN(12), 12);
  EXPECT_EQ(MALLOCX_ALIGN(1), 0);
  EXPECT_EQ(MALLOCX_ALIGN(4096), 12);
  EXPECT_EQ(MALLOCX_ALIGN(size_t{1} << 40), 40);
  EXPECT_EQ(MALLOCX_ZERO, 0x40);
  EXPECT_EQ(MALLOCX_TCACHE_NONE, 0x100);
  EXPECT_EQ(MALLOCX_TCACHE(0), 0x200);
  EXPECT_EQ(MALLOCX_TCACHE(4092), 0xffe00);
  EXPECT_EQ(MALLOCX_ARENA(0), 0x100000);
  EXPECT_EQ(static_cast<unsigned>(MALLOCX_ARENA(4094)), 0xfff00000u);
  EXPECT_EQ(ALLOCM_ALIGN(64), 6);
  EXPECT_EQ(ALLOCM_ZERO, 0x40);
  EXPECT_EQ(ALLOCM_NO_MOVE, 0x80);
  EXPECT_EQ(ALLOCM_ARENA(3), 0x400);
}

// --- Arenas while blocks are sampled --------------------------------------------------------------------------------

TEST(Mallocx, SampledBlocksComeFromTheirArena) {
  ASSERT_TRUE(profile::prepare(0));
  for (uint64_t mean : {0, 2000}) {
    profile::reset(mean);
    profile::set_active(true);
    for (unsigned arena = 0; arena < std::min(arenas::most(), 3u); ++arena) {
      const uint64_t before = profile::totals().allocated.blocks;
      unsigned asked = 0;
      std::vector<void*> blocks;
      for (size_t i = 0; i < kTouched; ++i) {
        for (int flags : {0, MALLOCX_ZERO, MALLOCX_ALIGN(256), MALLOCX_ZERO | MALLOCX_ALIGN(8192)}) {
          const size_t size = kSizesAsked[i];
          void* block = acre_mallocx(size, flags | MALLOCX_ARENA(arena));
          ASSERT_NE(block, nullptr);
          EXPECT_EQ(arena_of_block(block), arena) << size << " " << mean;
          EXPECT_EQ(acre_sallocx(block, 0), acre_nallocx(size, flags)) << size << " " << mean;
          EXPECT_TRUE((flags & MALLOCX_ZERO) == 0 || all_are(block, 0, size, 0)) << size << " " << mean;
          fill(block, size, 0x77);
          blocks.push_back(block);
          ++asked;
        }
      }
      const uint64_t sampled = profile::totals().allocated.blocks - before;
      EXPECT_TRUE(mean == 0 ? sampled == asked : sampled > 0) << arena << " " << sampled;
      for (void*& block : blocks) {
        block = acre_rallocx(block, acre_sallocx(block, 0) + 100, MALLOCX_ARENA(arena));
      }
      for (void* block : blocks) EXPECT_EQ(arena_of_block(block), arena) << mean;
      for (void* block : blocks) acre_dallocx(block, 0);
      EXPECT_EQ(profile::totals().live.blocks, 0u) << arena;
    }
    profile::set_active(false);
  }
  profile::reset(0);
}

// --- Sizes and alignment ------------------------------------------------------------------------------------------

TEST(Mallocx, SizesAndAlignmentAreWhatNallocxSays) {
  for (size_t size : kSizesAsked) {
    for (int lg = 0; lg <= 23; ++lg) {
      for (int more : {0, MALLOCX_ZERO, MALLOCX_TCACHE_NONE, MALLOCX_TCACHE(7), MALLOCX_ARENA(0)}) {
        const int flags = MALLOCX_LG_ALIGN(lg) | more;
        void* block = acre_mallocx(size, flags);
        ASSERT_NE(block, nullptr) << size << " " << lg;
        ASSERT_EQ(address_of(block) % (size_t{1} << lg), 0u) << size << " " << lg;
        const size_t bytes = acre_sallocx(block, flags);
        ASSERT_GE(bytes, size);
        ASSERT_EQ(bytes, acre_nallocx(size, flags)) << size << " " << lg;
        ASSERT_EQ(bytes, acre_malloc_usable_size(block));
        acre_sdallocx(block, size, flags);
      }
    }
  }
}

TEST(Mallocx, WithoutWishesItIsMalloc) {
  for (size_t size : kSizesAsked) {
    void* plain = acre_malloc(size);
    void* block = acre_mallocx(size, 0);
    EXPECT_EQ(acre_sallocx(block, 0), acre_malloc_usable_size(plain)) << size;
    acre_free(block);
    acre_dallocx(plain, 0);
  }
  acre_dallocx(nullptr, 0);
}

TEST(Mallocx, WhatIsTooLargeIsRefused) {
  for (size_t size : {size_t{PTRDIFF_MAX}, size_t{PTRDIFF_MAX} + 1, SIZE_MAX - 4095, SIZE_MAX}) {
    for (int flags : {0, MALLOCX_ZERO, MALLOCX_LG_ALIGN(16), MALLOCX_ARENA(0)}) {
      EXPECT_EQ(acre_nallocx(size, flags), 0u) << size;
      errno = 0;
      EXPECT_EQ(acre_mallocx(size, flags), nullptr) << size;
      EXPECT_EQ(errno, ENOMEM);
    }
  }
  EXPECT_EQ(acre_nallocx(PTRDIFF_MAX - 4095, 0), size_t{PTRDIFF_MAX} - 4095);
  for (int lg : {47, 62, 63}) {
    EXPECT_EQ(acre_nallocx(100, MALLOCX_LG_ALIGN(lg)), 0u) << lg;
    EXPECT_EQ(acre_mallocx(100, MALLOCX_LG_ALIGN(lg)), nullptr) << lg;
  }
  void* block = acre_mallocx(100, 0);
  fill(block, 100, 1);
  EXPECT_EQ(acre_rallocx(block, SIZE_MAX, 0), nullptr);
  EXPECT_TRUE(all_are(block, 0, 100, 1)) << "the old block stays";
  acre_dallocx(block, 0);
}

// --- Zeroes -------------------------------------------------------------------------------------------------------

TEST(Mallocx, ZeroedToTheEndOfTheBlock) {
  for (int round = 0; round < 2; ++round) {
    for (size_t i = 0; i < kTouched; ++i) {
      const size_t size = kSizesAsked[i];
      for (int lg : {0, 6, 13, 16}) {
        const int flags = MALLOCX_LG_ALIGN(lg);
        for (int left = 0; left < 3; ++left) {  // leaves blocks behind that are not zero
          void* block = acre_mallocx(size, flags);
          fill(block, acre_sallocx(block, 0), 0xee);
          acre_dallocx(block, 0);
        }
        for (int more : {0, MALLOCX_ARENA(0)}) {
          void* block = acre_mallocx(size, flags | MALLOCX_ZERO | more);
          ASSERT_TRUE(all_are(block, 0, acre_sallocx(block, 0), 0)) << size << " " << lg;
          fill(block, acre_sallocx(block, 0), 0xee);
          acre_dallocx(block, 0);
        }
      }
    }
  }
}

TEST(Rallocx, KeepsWhatWasThereAndZeroesWhatIsAdded) {
  test::Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const size_t from = kSizesAsked[random.below(kTouched)], to = kSizesAsked[random.below(kTouched)];
    const int lg = static_cast<int>(random.below(18));
    const bool zeroed = random.one_in(2);
    void* block = acre_mallocx(from, zeroed ? MALLOCX_ZERO : 0);
    const size_t before = acre_sallocx(block, 0);
    fill(block, before, 0xaa);
    block = acre_rallocx(block, to, MALLOCX_LG_ALIGN(lg) | (zeroed ? MALLOCX_ZERO : 0));
    ASSERT_NE(block, nullptr);
    const size_t after = acre_sallocx(block, 0);
    ASSERT_GE(after, to);
    ASSERT_EQ(after, acre_nallocx(to, MALLOCX_LG_ALIGN(lg))) << from << " to " << to << " at " << lg;
    ASSERT_EQ(address_of(block) % (size_t{1} << lg), 0u);
    ASSERT_TRUE(all_are(block, 0, std::min(before, after), 0xaa)) << from << " to " << to;
    if (zeroed && after > before) {
      ASSERT_TRUE(all_are(block, before, after, 0)) << from << " to " << to;
    }
    fill(block, after, 0xbb);
    acre_dallocx(block, 0);
  }
}

TEST(Rallocx, HugeBlocksGrowZeroed) {
  for (size_t from : {70 * kMiB, 100 * kMiB}) {
    void* block = acre_mallocx(from, MALLOCX_ZERO);
    fill(block, from, 0xaa);
    block = acre_rallocx(block, from + 30 * kMiB, MALLOCX_ZERO);
    EXPECT_TRUE(all_are(block, 0, from, 0xaa));
    EXPECT_TRUE(all_are(block, from, from + 30 * kMiB, 0));
    block = acre_rallocx(block, 40 * kMiB, 0);
    EXPECT_TRUE(all_are(block, 0, 40 * kMiB, 0xaa));
    block = acre_rallocx(block, from, MALLOCX_ZERO);
    EXPECT_TRUE(all_are(block, 40 * kMiB, from, 0)) << "what was cut off before, too";
    acre_dallocx(block, 0);
  }
}

TEST(Rallocx, TheSameClassStaysInPlace) {
  for (size_t size : kSizesAsked) {
    void* block = acre_mallocx(size, 0);
    EXPECT_EQ(acre_rallocx(block, acre_sallocx(block, 0), 0), block) << size;
    acre_dallocx(block, 0);
  }
}

// --- In place -----------------------------------------------------------------------------------------------------

TEST(Xallocx, SmallBlocksStayAsTheyAre) {
  for (size_t size : {1, 100, 5000, 32768}) {
    void* block = acre_mallocx(size, 0);
    const size_t bytes = acre_sallocx(block, 0);
    for (size_t wanted : {size_t{1}, bytes, bytes + 1, 10 * bytes}) {
      EXPECT_EQ(acre_xallocx(block, wanted, 0, 0), bytes);
      EXPECT_EQ(acre_xallocx(block, wanted, SIZE_MAX - wanted, 0), bytes);
    }
    EXPECT_EQ(acre_sallocx(block, 0), bytes);
    acre_dallocx(block, 0);
  }
}

TEST(Xallocx, LargeBlocksShrinkAndGrowWhereTheyAre) {
  auto* block = static_cast<char*>(acre_mallocx(kMiB, 0));
  fill(block, kMiB, 0xaa);
  EXPECT_EQ(acre_xallocx(block, 300000, 0, 0), acre_nallocx(300000, 0));
  EXPECT_EQ(acre_sallocx(block, 0), acre_nallocx(300000, 0));
  // What was cut off is free now, so it can be had again, and is dirty.
  EXPECT_EQ(acre_xallocx(block, 500001, 0, MALLOCX_ZERO), acre_nallocx(500001, 0));
  EXPECT_TRUE(all_are(block, 0, 300000, 0xaa));
  EXPECT_TRUE(all_are(block, acre_nallocx(300000, 0), acre_nallocx(500001, 0), 0));
  EXPECT_EQ(acre_xallocx(block, 100, 0, 0), acre_nallocx(500001, 0)) << "a large block stays large";
  EXPECT_EQ(acre_xallocx(block, 32769, 0, 0), 36864u);
  acre_dallocx(block, 0);
}

TEST(Xallocx, ExtraIsHadIfItCanBe) {
  auto* block = static_cast<char*>(acre_mallocx(2 * kMiB, 0));
  EXPECT_EQ(acre_xallocx(block, 100000, 0, 0), acre_nallocx(100000, 0));
  EXPECT_EQ(acre_xallocx(block, 100000, 200000, 0), acre_nallocx(300000, 0));
  EXPECT_EQ(acre_xallocx(block, 100000, 300000, 0), acre_nallocx(400000, 0));
  // There is not so much anywhere; what it has is more than was asked for at least, and stays.
  EXPECT_EQ(acre_xallocx(block, 100000, PTRDIFF_MAX, 0), acre_nallocx(400000, 0));
  EXPECT_EQ(acre_xallocx(block, 500000, PTRDIFF_MAX, 0), acre_nallocx(500000, 0)) << "at least";
  EXPECT_EQ(acre_xallocx(block, 500000, SIZE_MAX - 500000, 0), acre_nallocx(500000, 0));
  acre_dallocx(block, 0);
}

TEST(Xallocx, WhatIsInTheWayStays) {
  std::vector<char*> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(static_cast<char*>(acre_mallocx(40960, 0)));
  std::sort(blocks.begin(), blocks.end());
  int kept = 0;
  for (size_t i = 0; i + 1 < blocks.size(); ++i) {
    if (blocks[i] + 40960 != blocks[i + 1]) continue;
    ++kept;
    EXPECT_EQ(acre_xallocx(blocks[i], 40961, 0, 0), 40960u);
    EXPECT_EQ(acre_xallocx(blocks[i], 40000, 1000000, 0), 40960u);
  }
  EXPECT_GT(kept, 0);
  for (char* block : blocks) acre_dallocx(block, 0);
}

TEST(Xallocx, HugeBlocks) {
  void* block = acre_mallocx(100 * kMiB, 0);
  fill(block, 100 * kMiB, 0xaa);
  EXPECT_EQ(acre_xallocx(block, 70 * kMiB, 0, 0), 70 * kMiB);
  const size_t grown = acre_xallocx(block, 70 * kMiB, 10 * kMiB, MALLOCX_ZERO);
  EXPECT_EQ(grown, 80 * kMiB) << "what was unmapped is still free";
  EXPECT_TRUE(all_are(block, 0, 70 * kMiB, 0xaa));
  EXPECT_TRUE(all_are(block, 70 * kMiB, grown, 0));
  acre_dallocx(block, 0);
}

TEST(Xallocx, AnAlignmentThatTheBlockHasNotLeavesIt) {
  void* blocks[2] = {acre_mallocx(36864, 0), acre_mallocx(36864, 0)};
  for (void* block : blocks) {
    if (address_of(block) % 32768 == 0) continue;
    EXPECT_EQ(acre_xallocx(block, 100000, 0, MALLOCX_ALIGN(32768)), 36864u);
  }
  for (void* block : blocks) acre_dallocx(block, 0);
}

// --- Arenas -------------------------------------------------------------------------------------------------------

TEST(MallocxArena, BlocksComeFromTheArenaThatWasAskedFor) {
  const unsigned count = std::min(arenas::most(), 4u);
  std::vector<void*> blocks;
  for (int round = 0; round < 3; ++round) {
    for (unsigned i = 0; i < count; ++i) {
      for (size_t size : kSizesAsked) {
        if (size > large::kHugeFrom) continue;
        void* block = acre_mallocx(size, MALLOCX_ARENA(i) | MALLOCX_ZERO);
        ASSERT_NE(block, nullptr);
        ASSERT_EQ(arena_of_block(block), i) << size;
        blocks.push_back(block);
      }
    }
    for (void* block : blocks) acre_dallocx(block, 0);
    blocks.clear();
  }
}

TEST(MallocxArena, ThereIsNoOther) {
  errno = 0;
  EXPECT_EQ(acre_mallocx(100, MALLOCX_ARENA(arenas::most())), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(acre_mallocx(100000, MALLOCX_ARENA(4094)), nullptr);
}

TEST(MallocxArena, ABlockThatMovesMovesThere) {
  if (arenas::most() < 2) GTEST_SKIP() << "one arena";
  void* block = acre_mallocx(100, MALLOCX_ARENA(1));
  block = acre_rallocx(block, 100000, MALLOCX_ARENA(0));
  EXPECT_EQ(arena_of_block(block), 0u);
  block = acre_rallocx(block, 200, MALLOCX_ARENA(1));
  EXPECT_EQ(arena_of_block(block), 1u);
  EXPECT_EQ(acre_rallocx(block, 200, MALLOCX_ARENA(0)), block) << "it need not move";
  acre_dallocx(block, 0);
}

// --- The older functions --------------------------------------------------------------------------------------------

TEST(Allocm, AllocatesResizesAndTellsSizes) {
  void* block = nullptr;
  size_t bytes = 0;
  ASSERT_EQ(acre_allocm(&block, &bytes, 100, ALLOCM_ZERO | ALLOCM_ALIGN(64)), ALLOCM_SUCCESS);
  EXPECT_EQ(address_of(block) % 64, 0u);
  EXPECT_TRUE(all_are(block, 0, bytes, 0));
  size_t told = 0;
  EXPECT_EQ(acre_sallocm(block, &told, 0), ALLOCM_SUCCESS);
  EXPECT_EQ(told, bytes);
  EXPECT_EQ(acre_nallocm(&told, 100, ALLOCM_ALIGN(64)), ALLOCM_SUCCESS);
  EXPECT_EQ(told, bytes);
  fill(block, bytes, 0xaa);
  ASSERT_EQ(acre_rallocm(&block, &bytes, 40000, 10000, ALLOCM_ZERO), ALLOCM_SUCCESS);
  EXPECT_EQ(bytes, acre_nallocx(50000, 0)) << "the extra, too";
  EXPECT_TRUE(all_are(block, 0, told, 0xaa));
  EXPECT_TRUE(all_are(block, told, bytes, 0));
  EXPECT_EQ(acre_rallocm(&block, nullptr, 100, SIZE_MAX - 100, 0), ALLOCM_SUCCESS) << "without the extra";
  EXPECT_EQ(acre_sallocx(block, 0), acre_nallocx(100, 0));
  EXPECT_EQ(acre_dallocm(block, 0), ALLOCM_SUCCESS);
}

TEST(Allocm, NoMove) {
  void* block = nullptr;
  ASSERT_EQ(acre_allocm(&block, nullptr, 100, 0), ALLOCM_SUCCESS);
  void* const before = block;
  size_t bytes = 7;
  EXPECT_EQ(acre_rallocm(&block, &bytes, 1000, 0, ALLOCM_NO_MOVE), ALLOCM_ERR_NOT_MOVED);
  EXPECT_EQ(acre_rallocm(&block, &bytes, 10, 0, ALLOCM_NO_MOVE), ALLOCM_ERR_NOT_MOVED) << "shrinking, too";
  EXPECT_EQ(bytes, 7u);
  EXPECT_EQ(acre_rallocm(&block, &bytes, 101, 0, ALLOCM_NO_MOVE), ALLOCM_SUCCESS);
  EXPECT_EQ(bytes, acre_nallocx(100, 0));
  EXPECT_EQ(acre_rallocm(&block, &bytes, 10, 100, ALLOCM_NO_MOVE), ALLOCM_SUCCESS) << "within the extra";
  EXPECT_EQ(block, before);
  acre_dallocm(block, 0);
  ASSERT_EQ(acre_allocm(&block, nullptr, kMiB, 0), ALLOCM_SUCCESS);
  EXPECT_EQ(acre_rallocm(&block, &bytes, 100000, 0, ALLOCM_NO_MOVE), ALLOCM_SUCCESS);
  EXPECT_EQ(bytes, acre_nallocx(100000, 0));
  EXPECT_EQ(acre_rallocm(&block, &bytes, 200000, 0, ALLOCM_NO_MOVE), ALLOCM_SUCCESS);
  EXPECT_EQ(bytes, acre_nallocx(200000, 0));
  EXPECT_EQ(acre_rallocm(&block, &bytes, PTRDIFF_MAX, 0, ALLOCM_NO_MOVE), ALLOCM_ERR_NOT_MOVED);
  acre_dallocm(block, 0);
}

TEST(Allocm, Refusals) {
  void* block = &block;
  size_t bytes = 7;
  EXPECT_EQ(acre_allocm(&block, &bytes, SIZE_MAX, 0), ALLOCM_ERR_OOM);
  EXPECT_EQ(block, &block);
  EXPECT_EQ(acre_nallocm(&bytes, SIZE_MAX, 0), ALLOCM_ERR_OOM);
  EXPECT_EQ(acre_allocm(&block, &bytes, 100, ALLOCM_ARENA(4000)), ALLOCM_ERR_OOM);
  EXPECT_EQ(bytes, 7u);
  ASSERT_EQ(acre_allocm(&block, nullptr, 100, ALLOCM_ARENA(0)), ALLOCM_SUCCESS);
  EXPECT_EQ(arena_of_block(block), 0u);
  void* const before = block;
  EXPECT_EQ(acre_rallocm(&block, &bytes, SIZE_MAX, 0, 0), ALLOCM_ERR_OOM);
  EXPECT_EQ(block, before);
  acre_dallocm(block, 0);
}

}  // namespace
}  // namespace acre
