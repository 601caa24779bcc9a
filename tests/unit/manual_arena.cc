// manual/manual_arena: arenas that the program makes.
#include "manual/manual_arena.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/large.h"
#include "cache/malloc.h"
#include "os/os.h"
#include "pages/limit.h"
#include "support.h"

namespace acre {
namespace {

using arenas::allocate_in;

// An arena for one test.
class Explicit : public testing::Test {
 protected:
  ~Explicit() override { arenas::destroy(arena); }
  PageHeap& pages() { return arena.arena.pages; }
  void* allocate(size_t n, size_t alignment = 1, bool zeroed = false) {
    return allocate_in(arena, n, alignment, zeroed);
  }
  bool is_of_arena(const void* p) { return manual_arena_of(find_block(p)) == &arena; }

  ManualArena& arena = *arenas::create({});
};

constexpr size_t kSizes[] = {1, 8, 100, 1000, 5000, 32768, 32769, 100000, size_t{5} << 20, size_t{70} << 20};

TEST_F(Explicit, BlocksOfAllSizesAreOfTheArenaAndFreedByFree) {
  for (size_t n : kSizes) {
    for (size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, size_t{4} << 20}) {
      void* p = allocate(n, alignment);
      ASSERT_NE(p, nullptr) << n;
      EXPECT_TRUE(is_of_arena(p)) << n << " at " << alignment;
      EXPECT_TRUE(is_aligned(address_of(p), alignment));
      EXPECT_GE(acre_malloc_usable_size(p), n);
      memset(p, 0x5a, n);
      acre_free(p);
    }
  }
  EXPECT_EQ(pages().huge_pages(), 0u);
}

TEST_F(Explicit, ZeroedBlocksAreZero) {
  for (int round = 0; round < 2; ++round) {
    std::vector<void*> blocks;
    for (size_t n : kSizes) {
      blocks.push_back(allocate(n, 1, true));
      EXPECT_TRUE(test::all_zero(blocks.back(), n)) << n;
      memset(blocks.back(), 0xff, n);
    }
    for (void* p : blocks) acre_free(p);
  }
}

TEST_F(Explicit, FreedBlocksAreUsedAgain) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i) blocks.push_back(allocate(100));
  const size_t used = pages().used_pages();
  for (int round = 0; round < 10; ++round) {
    for (void* p : blocks) acre_free(p);
    for (void*& p : blocks) p = allocate(100);
    EXPECT_LE(pages().used_pages(), used + run_shape(class_of_size(100)).pages);
  }
  for (void* p : blocks) acre_free(p);
  EXPECT_LE(pages().used_pages(), 2u * run_shape(class_of_size(100)).pages);
}

TEST_F(Explicit, NoOtherArenaTakesItsRuns) {
  std::vector<void*> blocks;
  for (int i = 0; i < 50000; ++i) blocks.push_back(allocate(200));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i % 4 != 0) acre_free(blocks[i]);
  }
  void* large = allocate(size_t{20} << 20);
  acre_free(large);
  for (int i = 0; i < 50000; ++i) {
    void* p = acre_malloc(200);
    ASSERT_FALSE(is_of_arena(p));
    blocks.push_back(p);
  }
  blocks.push_back(acre_malloc(size_t{20} << 20));
  EXPECT_FALSE(is_of_arena(blocks.back()));
  for (size_t i = 0; i < blocks.size(); ++i) {
    if (i >= 50000 || i % 4 == 0) acre_free(blocks[i]);
  }
}

TEST_F(Explicit, ItTakesNoRunsOfOthers) {
  std::vector<void*> blocks;
  for (int i = 0; i < 20000; ++i) blocks.push_back(acre_malloc(300));
  for (size_t i = 0; i < blocks.size(); i += 2) acre_free(blocks[i]);
  acre_free(acre_malloc(size_t{20} << 20));
  for (int i = 0; i < 20000; ++i) ASSERT_TRUE(is_of_arena(allocate(300)));
  ASSERT_TRUE(is_of_arena(allocate(size_t{20} << 20)));
  for (size_t i = 1; i < blocks.size(); i += 2) acre_free(blocks[i]);
}

TEST_F(Explicit, ReallocStaysInTheArena) {
  auto* p = static_cast<unsigned char*>(allocate(10));
  memset(p, 7, 10);
  for (size_t n : {size_t{50}, size_t{5000}, size_t{50000}, size_t{6} << 20, size_t{9} << 20, size_t{80} << 20,
                   size_t{200} << 20, size_t{40} << 20, size_t{1000}, size_t{10}}) {
    p = static_cast<unsigned char*>(acre_realloc(p, n));
    ASSERT_NE(p, nullptr) << n;
    EXPECT_TRUE(is_of_arena(p)) << n;
    for (int i = 0; i < 10; ++i) EXPECT_EQ(p[i], 7);
  }
  acre_free(p);
  EXPECT_EQ(pages().huge_pages(), 0u);
}

TEST_F(Explicit, ReallocInMovesABlockIntoTheArena) {
  auto* p = static_cast<char*>(acre_malloc(100));
  strcpy(p, "kept");
  p = static_cast<char*>(arenas::reallocate_in(arena, p, 200));
  EXPECT_TRUE(is_of_arena(p));
  EXPECT_STREQ(p, "kept");
  acre_free(p);
}

TEST_F(Explicit, ResetFreesEverything) {
  for (int round = 0; round < 5; ++round) {
    test::Random random(static_cast<uint64_t>(round));
    std::vector<void*> blocks;
    for (int i = 0; i < 20000; ++i) {
      blocks.push_back(allocate(random.between(1, random.one_in(100) ? 300000 : 2000)));
      if (random.one_in(3)) {
        const size_t victim = random.below(blocks.size());
        acre_free(blocks[victim]);
        blocks[victim] = blocks.back();
        blocks.pop_back();
      }
    }
    void* huge = allocate(size_t{100} << 20);
    arenas::reset(arena);
    EXPECT_EQ(pages().used_pages(), 0u);
    EXPECT_EQ(pages().huge_pages(), 0u);
    EXPECT_TRUE(test::pages_add_up(pages().counts()));
    for (void* p : blocks) ASSERT_EQ(acre_owns(p), 0);
    EXPECT_EQ(acre_owns(huge), 0);
  }
  EXPECT_LT(pages().counts().obtained * kPageBytes, size_t{100} << 20);
}

TEST_F(Explicit, AThreadsCachesHoldNothingOfItAfterReset) {
  std::vector<void*> blocks;
  for (int i = 0; i < 3000; ++i) blocks.push_back(allocate(64));
  std::thread([&] {
    acre_free(acre_malloc(64));
    for (size_t i = 0; i < blocks.size(); i += 2) acre_free(blocks[i]);
    arenas::reset(arena);
    for (int i = 0; i < 100; ++i) acre_free(acre_malloc(static_cast<size_t>(i)));
  }).join();  // its outbox is sent off
  EXPECT_EQ(pages().used_pages(), 0u);
  for (int i = 0; i < 3000; ++i) ASSERT_TRUE(is_of_arena(allocate(64)));
}

TEST(ManualArenas, ADestroyedOneIsUsedAgain) {
  ManualArena* first = arenas::create({});
  for (int i = 0; i < 1000; ++i) allocate_in(*first, 100, 1, false);
  arenas::destroy(*first);
  const size_t obtained = first->arena.pages.counts().obtained;
  const size_t metadata = metadata::allocated_bytes();
  for (int i = 0; i < 1000; ++i) {
    ManualArena* again = arenas::create({});
    EXPECT_EQ(again, first);
    for (int j = 0; j < 100; ++j) allocate_in(*again, 100, 1, false);
    arenas::destroy(*again);
  }
  EXPECT_EQ(first->arena.pages.counts().obtained, obtained);
  EXPECT_EQ(metadata::allocated_bytes(), metadata);
}

TEST(ManualArenas, ThreadsShareOne) {
  ManualArena* arena = arenas::create({});
  constexpr unsigned kThreads = 4;
  std::vector<void*> slots(1000);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(t);
      for (int i = 0; i < 30000; ++i) {
        const size_t n = random.between(16, 3000);
        auto* p = static_cast<size_t*>(allocate_in(*arena, n, 1, false));
        *p = n;
        p = static_cast<size_t*>(__atomic_exchange_n(&slots[random.below(slots.size())], p, __ATOMIC_ACQ_REL));
        if (p != nullptr && acre_malloc_usable_size(p) < *p) abort();
        acre_free(p);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (void* p : slots) acre_free(p);
  arenas::reset(*arena);
  EXPECT_TRUE(test::pages_add_up(arena->arena.pages.counts()));
  arenas::destroy(*arena);
}

TEST(ManualArenas, EachThreadItsOwnAtTheSameTime) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      test::Random random(t);
      for (int i = 0; i < 300; ++i) {
        ManualArena* arena = arenas::create({});
        for (int j = 0; j < 100; ++j) {
          void* p = allocate_in(*arena, random.between(1, 5000), 1, false);
          memset(p, static_cast<int>(t), 1);
          if (random.one_in(2)) acre_free(p);
        }
        arenas::destroy(*arena);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(ManualArenas, NumbersComeAfterTheAutomaticArenas) {
  ManualArena* first = arenas::create({});
  ManualArena* second = arenas::create({});
  const unsigned a = arenas::give_number(*first);
  const unsigned b = arenas::give_number(*second);
  EXPECT_GE(a, arenas::most());
  EXPECT_EQ(b, a + 1);
  EXPECT_GT(arenas::numbers(), b);
  EXPECT_EQ(arenas::manual_at(a), first);
  void* p = acre_mallocx(100, MALLOCX_ARENA(b));
  EXPECT_EQ(manual_arena_of(find_block(p)), second);
  p = acre_mallocx(size_t{1} << 20, MALLOCX_ARENA(a) | MALLOCX_ALIGN(4096) | MALLOCX_ZERO);
  EXPECT_EQ(manual_arena_of(find_block(p)), first);
  p = acre_rallocx(p, size_t{2} << 20, 0);
  EXPECT_EQ(manual_arena_of(find_block(p)), first) << "a block that moves stays in its arena";
  arenas::destroy(*first);
  EXPECT_EQ(arenas::manual_at(a), nullptr);
  EXPECT_EQ(acre_mallocx(10, MALLOCX_ARENA(a)), nullptr);
  EXPECT_EQ(acre_mallocx(10, MALLOCX_ARENA(4000)), nullptr);
  ManualArena* third = arenas::create({});
  EXPECT_EQ(arenas::give_number(*third), a);
  arenas::destroy(*second);
  arenas::destroy(*third);
  for (size_t n : {size_t{10}, size_t{50000}, size_t{80} << 20}) {
    p = acre_mallocx(n, MALLOCX_ARENA(0) | MALLOCX_ALIGN(64) | MALLOCX_ZERO);
    EXPECT_TRUE(test::all_zero(p, n));
    EXPECT_EQ(manual_arena_of(find_block(p)), nullptr);
    acre_free(p);
  }
}

// Whatever becomes of a cgroup's quota, with which the most arenas change.
TEST(ManualArenas, NumbersBeginWhereNoOtherArenasGetTo) {
  const unsigned begin = arenas::manual_numbers_begin();
  EXPECT_GE(begin, arenas::most());
  ManualArena* arena = arenas::create({});
  EXPECT_GE(arenas::give_number(*arena), begin);
  arenas::look_at_quota();
  EXPECT_LE(arenas::most(), begin);
  EXPECT_EQ(arenas::manual_numbers_begin(), begin);
  arenas::destroy(*arena);
}

TEST(ManualArenas, TheirPagesDecayWhenOthersAllocate) {
  ManualArena* arena = arenas::create({});
  PageHeap& pages = arena->arena.pages;
  pages.set_dirty_decay_ms(1);
  memset(allocate_in(*arena, size_t{4} << 20, 1, false), 1, size_t{4} << 20);
  arenas::reset(*arena);
  EXPECT_GT(pages.dirty_pages(), 0u);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (pages.dirty_pages() != 0 && std::chrono::steady_clock::now() < end) {
    for (int i = 0; i < 1000; ++i) acre_free(acre_malloc(40000));
  }
  EXPECT_EQ(pages.dirty_pages(), 0u);
  arenas::destroy(*arena);
}

TEST(ManualArenas, TrimPurgesThem) {
  ManualArena* arena = arenas::create({});
  memset(allocate_in(*arena, size_t{4} << 20, 1, false), 1, size_t{4} << 20);
  arenas::destroy(*arena);
  acre_malloc_trim(0);
  EXPECT_EQ(arena->arena.pages.dirty_pages(), 0u);
}

TEST(ManualArenas, InTheChildOfAFork) {
  ManualArena* arena = arenas::create({});
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      for (size_t i = 0; !stop; ++i) {
        acre_free(allocate_in(*arena, 1 + i % 3000, 1, false));
        ManualArena* other = arenas::create({});
        allocate_in(*other, 100, 1, false);
        arenas::destroy(*other);
      }
    });
  }
  for (int i = 0; i < 50; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      for (int round = 0; round < 3; ++round) {
        for (size_t n = 1; n < 3000; n += 7) {
          if (allocate_in(*arena, n, 1, false) == nullptr) _exit(1);
        }
        arenas::reset(*arena);
        if (arena->arena.pages.used_pages() != 0) _exit(2);
        ManualArena* other = arenas::create({});
        acre_free(allocate_in(*other, 100, 1, false));
        arenas::destroy(*other);
      }
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  arenas::destroy(*arena);
}

using ManualDeath = Explicit;

TEST_F(ManualDeath, ADoubleFreeIsNamed) {
  void* p = allocate(100);
  acre_free(p);
  EXPECT_DEATH(acre_free(p), "double free");
  EXPECT_DEATH({
    arenas::reset(arena);
    acre_free(p);
  }, "acre: free");
}

TEST_F(ManualDeath, ABlockThatIsOnAPrivateListIsKnownToBeFree) {
  void* first = allocate(2000);
  void* second = allocate(2000);
  acre_free(first);
  acre_free(second);
  void* again = nullptr;
  for (int i = 0; i < 200 && again != second; ++i) again = allocate(2000);
  ASSERT_EQ(again, second) << "the last that was freed is the first of the list";
  EXPECT_EQ(acre_owns(first), 0);
  EXPECT_DEATH(acre_free(first), "double free");
}

TEST(ManualArenasDeath, DestroyingTwice) {
  ManualArena* arena = arenas::create({});
  arenas::destroy(*arena);
  EXPECT_DEATH(arenas::destroy(*arena), "destroyed again");
}

}  // namespace
}  // namespace acre
