// observe/sampler: which blocks a sampler sees, and that it hears of their ends.
#include "observe/sampler.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "cache/large.h"
#include "cache/lookup.h"
#include "cache/private_list.h"
#include "manual/manual_arena.h"
#include "support.h"

namespace acre {
namespace {

// A sampler that sees every so many blocks, and writes down what it is told.
struct Log {
  static inline uint64_t gap = 0;
  static inline Ticket last = 0;
  static inline std::map<Ticket, std::pair<const void*, size_t>>* live = nullptr;
  static inline bool allocate_within = false;

  static uint64_t draw(size_t) { return gap; }
  static Ticket allocated(const void* block, size_t bytes, Address) {
    if (allocate_within) {
      allocate_within = false;
      acre_free(acre_malloc(bytes));
      allocate_within = true;
    }
    live->emplace(++last, std::make_pair(block, bytes));
    return last;
  }
  static void freed(Ticket ticket) { EXPECT_EQ(live->erase(ticket), 1u); }
};
constexpr sampler::Sampler kLog{Log::draw, Log::allocated, Log::freed, nullptr};

class SamplerTest : public testing::Test {
 protected:
  void SetUp() override {
    acre_free(acre_malloc(1));
    Log::live = &live_;
    Log::last = 0;
    Log::allocate_within = false;
  }
  void TearDown() override {
    sampler::stop();
    EXPECT_TRUE(live_.empty());
  }
  void sample_every(uint64_t gap) {
    Log::gap = gap;
    sampler::start(kLog);
  }
  bool is_seen(const void* block) const {
    for (const auto& [ticket, entry] : live_) {
      if (entry.first == block) return true;
    }
    return false;
  }

  std::map<Ticket, std::pair<const void*, size_t>> live_;
};

TEST_F(SamplerTest, EachBlockAfterTheGapIsSeenAndNoOther) {
  for (uint64_t gap : {0, 1, 2, 7, 63, 100, 1000}) {
    sample_every(gap);
    for (size_t bytes : {8, 48, 1000, 1024, 4096, 20000, 32768}) {
      std::vector<void*> blocks;
      const size_t rounds = 3 * (gap + 1) + 5;
      for (size_t i = 0; i < rounds; ++i) {
        blocks.push_back(acre_malloc(bytes));
        EXPECT_EQ(is_seen(blocks.back()), i % (gap + 1) == gap) << bytes << " bytes, gap " << gap << ", block " << i;
        EXPECT_EQ(acre_malloc_usable_size(blocks.back()), size_of_class(class_of_size(bytes)));
        memset(blocks.back(), 0x61, bytes);
      }
      for (void* block : blocks) acre_free(block);
      EXPECT_TRUE(live_.empty());
      sampler::start(kLog);
    }
  }
}

// A block that is freed in place goes round without the slow path, which is told of it in time.
TEST_F(SamplerTest, BlocksThatAreFreedInPlaceAreCounted) {
  for (uint64_t gap : {0, 1, 13, 255, 256, 257, 1000}) {
    for (size_t bytes : {8, 100, 1024, 4096}) {
      sample_every(gap);
      void* lasting = nullptr;
      for (size_t i = 0; i < 4 * (gap + 1); ++i) {
        void* block = acre_malloc(bytes);
        ASSERT_EQ(is_seen(block), i % (gap + 1) == gap) << bytes << " bytes, gap " << gap << ", block " << i;
        if (i % 50 == 3) std::swap(block, lasting);
        acre_free(block);
      }
      acre_free(lasting);
    }
  }
}

// The sampler starts while another thread goes round in place: it is seen there, too.
TEST_F(SamplerTest, AThreadThatGoesRoundInPlaceIsSeenSoon) {
  std::atomic<int> step{0};
  std::thread thread([&] {
    void* lasting = acre_malloc(64);
    acre_free(acre_malloc(64));
    step = 1;
    step.notify_one();
    step.wait(1);
    for (int i = 0; i < private_list::kMostLeft + 10; ++i) acre_free(acre_malloc(64));  // so many pass unseen
    const Ticket before = Log::last;
    for (int i = 0; i < 100; ++i) acre_free(acre_malloc(64));
    EXPECT_EQ(Log::last - before, 10u);
    acre_free(lasting);
  });
  step.wait(0);
  sample_every(9);
  step = 2;
  step.notify_one();
  thread.join();
}

// Freed blocks that go on the private list at once count, too.
TEST_F(SamplerTest, BlocksThatAreKeptAreCounted) {
  for (uint64_t gap : {0, 1, 5, 13, 300}) {
    for (size_t bytes : {100, 2000, 4096, 20000}) {
      sample_every(gap);
      std::vector<void*> lasting;
      for (size_t i = 0; i < 40 * (gap + 1); ++i) {
        void* block = acre_malloc(bytes);
        ASSERT_EQ(is_seen(block), i % (gap + 1) == gap) << bytes << " bytes, gap " << gap << ", block " << i;
        lasting.push_back(block);
        if (i % 3 == 1) {
          for (size_t k = 0; k < 2; ++k) {
            const size_t at = (i * 7 + k) % lasting.size();
            acre_free(lasting[at]);
            lasting.erase(lasting.begin() + static_cast<std::ptrdiff_t>(at));
          }
        }
      }
      for (void* block : lasting) acre_free(block);
    }
  }
}

TEST_F(SamplerTest, SampledBlocksAreBlocksLikeOthers) {
  sample_every(0);
  for (size_t alignment = 8; alignment <= 64 << 10; alignment *= 2) {
    void* block = acre_memalign(alignment, 100);
    EXPECT_EQ(address_of(block) % alignment, 0u);
    EXPECT_TRUE(is_seen(block));
    acre_free(block);
  }
  char* block = static_cast<char*>(acre_calloc(10, 100));
  EXPECT_TRUE(test::all_zero(block, 1000));
  memset(block, 0x61, 1000);
  EXPECT_EQ(acre_realloc(block, 1001), block);  // the same class
  EXPECT_EQ(live_.size(), 1u);
  block = static_cast<char*>(acre_realloc(block, 3000));
  EXPECT_EQ(live_.size(), 1u);
  EXPECT_EQ(live_.begin()->second.second, size_of_class(class_of_size(3000)));
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(block[i], 0x61);
  EXPECT_TRUE(acre_owns(block));
  EXPECT_FALSE(acre_owns(block + 16));
  acre_free(block);
  EXPECT_FALSE(acre_owns(block));
}

TEST_F(SamplerTest, LargeAndHugeBlocks) {
  sample_every(0);
  for (size_t bytes : {size_t{32769}, size_t{1} << 20, size_t{65} << 20}) {
    void* block = acre_malloc(bytes);
    ASSERT_EQ(live_.size(), 1u);
    EXPECT_EQ(live_.begin()->second.second, acre_malloc_usable_size(block));
    const Ticket before = Log::last;
    EXPECT_EQ(acre_realloc(block, acre_malloc_usable_size(block)), block);
    EXPECT_EQ(Log::last, before);
    for (size_t to : {bytes * 2, bytes + 5000, bytes * 9, bytes}) {
      block = acre_realloc(block, to);
      ASSERT_EQ(live_.size(), 1u);
      EXPECT_EQ(live_.begin()->second.second, acre_malloc_usable_size(block));
      EXPECT_EQ(live_.begin()->second.first, block);
    }
    acre_free(block);
    EXPECT_TRUE(live_.empty());
  }
  Log::gap = 1;  // not seen
  void* block = acre_malloc(100000);
  EXPECT_TRUE(live_.empty());
  acre_free(block);
}

TEST_F(SamplerTest, BlocksOfManualArenas) {
  ManualArena* arena = arenas::create({});
  sample_every(0);
  std::vector<void*> blocks;
  for (size_t bytes : {size_t{1}, size_t{1000}, size_t{32768}, size_t{32769}, size_t{1} << 20, size_t{65} << 20}) {
    for (size_t alignment : {1, 64, 16384}) {
      void* block = arenas::allocate_in(*arena, bytes, alignment, true);
      ASSERT_NE(block, nullptr);
      blocks.push_back(block);
      ASSERT_EQ(live_.size(), blocks.size());
      EXPECT_TRUE(is_seen(block));
      EXPECT_GE(live_[Log::last].second, bytes);
      EXPECT_LE(live_[Log::last].second, acre_malloc_usable_size(block));
      EXPECT_TRUE(is_aligned(address_of(block), alignment));
      EXPECT_TRUE(test::all_zero(block, bytes));
      memset(block, 0x11, acre_malloc_usable_size(block));
      EXPECT_EQ(manual_arena_of(find_block(block)), arena);
    }
  }
  EXPECT_EQ(live_[1].second, size_of_class(class_of_size(1)));
  acre_free(blocks[0]);
  EXPECT_FALSE(is_seen(blocks[0]));
  auto* grown = static_cast<unsigned char*>(acre_realloc(blocks[3], 5000));
  EXPECT_FALSE(is_seen(blocks[3]));
  EXPECT_EQ(grown[999], 0x11);
  EXPECT_TRUE(is_seen(grown));
  EXPECT_EQ(live_.size(), blocks.size() - 1);
  arenas::reset(*arena);
  EXPECT_TRUE(live_.empty()) << "a reset frees all";
  Log::gap = 1;  // not seen
  arenas::allocate_in(*arena, 100, 1, false);
  EXPECT_TRUE(live_.empty());
  arenas::destroy(*arena);
}

TEST_F(SamplerTest, FreesAreToldInOtherThreadsAndAfterTheEnd) {
  sample_every(0);
  std::vector<void*> blocks;
  for (size_t i = 0; i < 300; ++i) blocks.push_back(acre_malloc(i * 200));
  EXPECT_EQ(live_.size(), 300u);
  sampler::stop();
  void* unseen = acre_malloc(100);
  EXPECT_EQ(live_.size(), 300u);
  std::thread([&] {
    for (size_t i = 0; i < 150; ++i) acre_free(blocks[i]);
  }).join();
  EXPECT_EQ(live_.size(), 150u);
  for (size_t i = 150; i < 300; ++i) acre_free(blocks[i]);
  EXPECT_TRUE(live_.empty());
  acre_free(unseen);
}

TEST_F(SamplerTest, ThreadsThatAreNotSampled) {
  sample_every(0);
  Heap& heap = *heap_if_any();
  sampler::set_thread(heap, false);
  void* block = acre_malloc(100);
  void* large = acre_malloc(100000);
  EXPECT_TRUE(live_.empty());
  sampler::set_thread(heap, true);
  void* seen = acre_malloc(100);
  EXPECT_EQ(live_.size(), 1u);
  sampler::set_new_threads(false);
  std::thread([] { acre_free(acre_malloc(100)); }).join();
  EXPECT_EQ(Log::last, 1u);
  sampler::set_new_threads(true);
  std::thread([] { acre_free(acre_malloc(100)); }).join();
  EXPECT_EQ(Log::last, 2u);
  for (void* p : {block, large, seen}) acre_free(p);
}

TEST_F(SamplerTest, TheSamplerMayAllocate) {
  Log::allocate_within = true;
  sample_every(2);
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) blocks.push_back(acre_malloc(64));
  EXPECT_GT(live_.size(), 100u);
  for (void* block : blocks) acre_free(block);
}

// What is given up with the rest of a private list was not to be seen: the next gap is a new one.
TEST_F(SamplerTest, AfterAListIsGivenUpTheGapIsNew) {
  sample_every(10);
  std::vector<void*> blocks;
  for (int i = 0; i < 100; ++i) {
    for (int k = 0; k < 5; ++k) blocks.push_back(acre_malloc(64));
    empty_heap(*heap_if_any());
  }
  EXPECT_TRUE(live_.empty());
  for (void* block : blocks) acre_free(block);
}

TEST_F(SamplerTest, EmptyRunsOfSampledBlocksGoBack) {
  sample_every(0);
  const size_t before = arenas::used_pages();
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i) blocks.push_back(acre_malloc(1000));
  EXPECT_GT(arenas::used_pages(), before + 20000 * 1000 / kPageBytes);
  for (size_t i = 0; i < blocks.size(); i += 2) acre_free(blocks[i]);
  for (size_t i = 1; i < blocks.size(); i += 2) acre_free(blocks[i]);
  EXPECT_LE(arenas::used_pages(), before + 2 * run_shape(class_of_size(1000)).pages);
}

using SamplerDeathTest = SamplerTest;

TEST_F(SamplerDeathTest, DoubleFreesAndInteriorPointersOfSampledBlocksAreFound) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  sample_every(0);
  char* block = static_cast<char*>(acre_malloc(100));
  EXPECT_DEATH(acre_free(block + 16), "free\\(0x[0-9a-f]+\\): interior pointer: it is 16 bytes into a block of 112");
  EXPECT_DEATH(acre_free(block + 112), "double free: the block of 112 bytes is free already");
  EXPECT_DEATH(acre_free(block + 120), "interior pointer: it is 8 bytes into a free block of 112");
  EXPECT_DEATH(acre_free_sized(block, 20), "wrong size: freed as 20 bytes, but allocated as 97 to 112");
  EXPECT_DEATH((acre_free(block), acre_free(block)), "double free: the block of 112 bytes is free already");
  EXPECT_DEATH((acre_free(block), acre_realloc(block, 10)), "realloc\\(0x[0-9a-f]+\\): double free");
  acre_free(block);
}

}  // namespace
}  // namespace acre
