// pages/limit and the hard limit: what counts as held, and what is refused beyond the limit.
#include "pages/limit.h"

#include <cerrno>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "cache/registry.h"
#include "page_heap_support.h"
#include "pages/huge.h"

namespace acre {
namespace {

int set_limit(const char* name, size_t bytes) {
  ssize_t value = static_cast<ssize_t>(bytes);
  return acre_mallctl(name, nullptr, nullptr, &value, sizeof value);
}
int set_hard(size_t bytes) { return set_limit("opt.hard_limit", bytes); }

class Limit : public test::PageHeapTest {
 protected:
  void TearDown() override {
    EXPECT_EQ(set_hard(0), 0);
    PageHeapTest::TearDown();
  }
  // Of this heap's pages, by its own counts.
  size_t pages_held() {
    const PageCounts counts = heap.counts();
    return (counts.obtained - counts.clean) * kPageBytes;
  }
};

TEST_F(Limit, HeldIsWhatThePageHeapHasThatIsNotClean) {
  const size_t others = limit::held() - metadata::allocated_bytes();
  test::Random random(7);
  std::vector<PageRun*> runs;
  for (int step = 0; step < 20000; ++step) {
    switch (random.below(8)) {
      case 0: case 1: case 2:
        runs.push_back(heap.allocate(random.between(1, 300), random.one_in(4) ? 8 : 1));
        break;
      case 3:
        if (PageRun* run = heap.allocate_free(random.between(1, 800), 1, random.one_in(2))) runs.push_back(run);
        break;
      case 4: case 5:
        if (runs.empty()) break;
        std::swap(runs[random.below(runs.size())], runs.back());
        heap.free(runs.back(), !random.one_in(3));
        runs.pop_back();
        break;
      case 6: {
        if (runs.empty()) break;
        PageRun* run = runs[random.below(runs.size())];
        if (random.one_in(2)) {
          heap.grow_in_place(run, run->pages + random.between(1, 50));
        } else if (run->pages > 1) {
          heap.shrink_in_place(run, random.between(1, run->pages - 1));
        }
        break;
      }
      default:
        if (random.one_in(20)) heap.purge_to(random.below(heap.dirty_pages() + 1));
    }
    ASSERT_EQ(limit::held(), others + metadata::allocated_bytes() + pages_held()) << step;
  }
  for (PageRun* run : runs) heap.free(run, true);
  heap.purge_to(0);
  EXPECT_EQ(limit::held(), others + metadata::allocated_bytes());
}

TEST_F(Limit, BeyondItDirtyPagesAreToBeHadAndCleanOnesAreNot) {
  PageRun* dirty = allocate(100);
  heap.free(dirty, true);
  const size_t before = limit::refusals();
  ASSERT_EQ(set_hard(limit::held()), 0);
  EXPECT_EQ(heap.allocate(101, 1), nullptr);
  EXPECT_EQ(heap.allocate_free(101, 1, false), nullptr);
  EXPECT_GT(limit::refusals(), before);
  dirty = heap.allocate(99, 1);
  ASSERT_NE(dirty, nullptr);
  EXPECT_TRUE(heap.grow_in_place(dirty, 100)) << "the rest is dirty";
  EXPECT_FALSE(heap.grow_in_place(dirty, 101));
  heap.free(dirty, true);
  EXPECT_EQ(heap.purge_to(60), 40u);
  EXPECT_NE(dirty = heap.allocate(40, 4), nullptr) << "there is room again";
  const size_t obtained = heap.counts().obtained;
  EXPECT_EQ(heap.allocate(2000, 1), nullptr);
  EXPECT_EQ(heap.counts().obtained, obtained) << "no addresses are asked for in vain";
}

TEST_F(Limit, HugeBlocksCountWhole) {
  const size_t before = limit::held();
  PageRun* run = huge::allocate(100 * kMiB, kPageBytes);
  ASSERT_NE(run, nullptr);
  const size_t header = limit::held() - before - 100 * kMiB;
  EXPECT_LE(header, sizeof(PageRun) + kCacheLine);
  ASSERT_EQ(set_hard(before + 130 * kMiB), 0);
  EXPECT_EQ(huge::allocate(31 * kMiB, kPageBytes), nullptr);
  EXPECT_FALSE(huge::resize_in_place(run, 131 * kMiB));
  EXPECT_EQ(huge::grow_elsewhere(run, 131 * kMiB), nullptr);
  EXPECT_EQ(limit::held(), before + header + 100 * kMiB) << "what was refused is not counted";
  PageRun* bigger = huge::grow_elsewhere(run, 120 * kMiB);  // at no moment are both in use
  ASSERT_NE(bigger, nullptr);
  EXPECT_LE(limit::held(), before + 120 * kMiB + 3 * header);
  EXPECT_TRUE(huge::resize_in_place(bigger, 70 * kMiB));
  EXPECT_LE(limit::held(), before + 70 * kMiB + 3 * header);
  huge::free(bigger);
  EXPECT_LE(limit::held(), before + 3 * header);
}

TEST_F(Limit, ARefusalByTheSystemIsNotCounted) {
  heap.free(allocate(1), false);  // headers
  const size_t before = limit::held();
  os::testing::refuse_requests(0, 1000);
  EXPECT_EQ(heap.allocate(10000, 1), nullptr);
  EXPECT_EQ(huge::allocate(100 * kMiB, kPageBytes), nullptr);
  os::testing::refuse_nothing();
  EXPECT_LE(limit::held(), before + sizeof(PageRun) + kCacheLine) << "a header";
}

// --- Through malloc -----------------------------------------------------------------------------------------------

// Bytes in blocks of this size until one is refused; all are free again at the end.
size_t fill_up(size_t size) {
  std::vector<void*> blocks;
  blocks.reserve(1 << 20);
  errno = 0;
  while (void* block = acre_malloc(size)) {
    blocks.push_back(block);
    EXPECT_EQ(errno, 0);
  }
  EXPECT_EQ(errno, ENOMEM);
  for (void* block : blocks) acre_free(block);
  return blocks.size() * size;
}

TEST_F(Limit, EverySizeGetsNearlyAllOfItWhateverWasDirtyBefore) {
  acre_free(acre_malloc(1));
  acre_malloc_trim(0);
  constexpr size_t kRoom = 200 * kMiB;
  const size_t most = limit::held() + kRoom;
  ASSERT_EQ(set_hard(most), 0);
  for (size_t size : {48, 4096, 20000, 32768, 100000, 3 << 20, 50 << 20, 70 << 20, 1000, 150 << 20, 300}) {
    EXPECT_GE(fill_up(size), kRoom - kRoom / 8 - (size > 10 * kMiB ? size : 0)) << size;
    EXPECT_LE(limit::held(), most + kMiB) << "only metadata passes it";
  }
  EXPECT_EQ(acre_malloc(kRoom + kMiB), nullptr);
}

TEST_F(Limit, ReallocGrowsUpToItAndNoFurther) {
  acre_malloc_trim(0);
  ASSERT_EQ(set_hard(limit::held() + 300 * kMiB), 0);
  void* dirty = acre_malloc(60 * kMiB);
  void* block = acre_malloc(200 * kMiB);
  ASSERT_NE(block, nullptr);
  static_cast<char*>(block)[0] = 42;
  EXPECT_EQ(acre_realloc(block, 260 * kMiB), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  acre_free(dirty);  // has to go to the system first
  void* bigger = acre_realloc(block, 260 * kMiB);
  ASSERT_NE(bigger, nullptr);
  EXPECT_EQ(static_cast<char*>(bigger)[0], 42);
  acre_free(bigger);
}

TEST_F(Limit, ItMayChangeAtAnyTime) {
  void* block = acre_malloc(10 * kMiB);
  ASSERT_EQ(set_hard(kMiB), 0);  // below what is held: nothing more, but what there is works
  EXPECT_EQ(acre_malloc(10 * kMiB), nullptr);
  acre_free(block);
  ASSERT_EQ(set_hard(0), 0);
  EXPECT_NE(block = acre_malloc(10 * kMiB), nullptr);
  acre_free(block);
}

TEST_F(Limit, ManyThreadsDoNotPassIt) {
  acre_malloc_trim(0);
  const size_t most = limit::held() + 64 * kMiB;
  ASSERT_EQ(set_hard(most), 0);
  std::vector<std::thread> threads;
  std::atomic<size_t> highest{0};
  for (size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int round = 0; round < 5; ++round) {
        std::vector<void*> blocks;
        while (void* block = acre_malloc(3000 + t * 30000)) {
          blocks.push_back(block);
          size_t held = limit::held() - metadata::allocated_bytes(), before = highest.load();
          while (held > before && !highest.compare_exchange_weak(before, held)) {
          }
        }
        for (void* block : blocks) acre_free(block);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(highest.load(), most);
}

}  // namespace
}  // namespace acre
