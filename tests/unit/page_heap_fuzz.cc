// pages/page_heap: random operations against a model, fixed seeds; then several threads on one.
#include <gtest/gtest.h>

#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "pages/page_heap.h"
#include "support.h"

namespace acre {
namespace {

// Each live run carries its own mark in every page that was touched.
struct Live {
  PageRun* run;
  uint64_t mark;
  bool touched;
};

uint64_t* word(Address page) { return static_cast<uint64_t*>(pointer_to(page)); }

class FuzzedPageHeap {
 public:
  explicit FuzzedPageHeap(uint64_t seed, PageHeap& heap = test::new_page_heap(), uint64_t now = 1)
      : random_(seed), heap_(heap), now_(now) {
    heap_.set_dirty_decay_ms(1000);
    heap_.set_muzzy_decay_ms(seed % 2 == 0 ? 0 : 300);
  }

  void step() {
    switch (random_.below(10)) {
      case 0: case 1: case 2: case 3: allocate(); break;
      case 4: case 5: case 6: if (!live_.empty()) free(any()); break;
      case 7: if (!live_.empty()) grow(any()); break;
      case 8: if (!live_.empty()) shrink(any()); break;
      default: purge(); break;
    }
    if (used_ > kMostPages) {
      while (used_ > kMostPages / 2) free(any());
    }
    check_counts();
  }

  uint64_t now() const { return now_; }
  size_t joined() const { return joined_; }

  // Nothing is left behind: all pages can be had again as the chunks they came in.
  void finish() {
    while (!live_.empty()) free(live_.begin());
    check_counts();
    heap_.purge_to(0);
    const PageCounts counts = heap_.counts();
    ASSERT_EQ(counts.dirty, 0u);
    ASSERT_EQ(counts.clean, counts.obtained);
    std::vector<PageRun*> again;
    while (PageRun* run = heap_.allocate_free(kPagesPerHugePage, 1, false)) {
      ASSERT_TRUE(run->fresh);
      again.push_back(run);
    }
    ASSERT_EQ(again.size() * kPagesPerHugePage, counts.obtained) << "free pages did not coalesce";
    for (PageRun* run : again) heap_.free(run, false);
  }

 private:
  static constexpr size_t kMostPages = 6000;
  using LiveMap = std::map<Address, Live>;

  LiveMap::iterator any() {
    auto at = live_.begin();
    std::advance(at, static_cast<long>(random_.below(live_.size())));
    return at;
  }

  void allocate() {
    const size_t pages = random_.one_in(8) ? random_.between(1, 700) : random_.between(1, 40);
    static constexpr size_t kAlignments[] = {1, 1, 1, 16, 16, 64, 512};
    size_t align_pages = kAlignments[random_.below(7)];
    PageRun* run;
    if (random_.one_in(4)) {
      align_pages = 1;
      if ((run = join(pages)) == nullptr) return;
    } else if (random_.one_in(3)) {
      run = heap_.allocate_free(pages, align_pages, random_.one_in(2));
      if (run == nullptr) return;
    } else {
      run = heap_.allocate(pages, align_pages);
      ASSERT_NE(run, nullptr);
    }
    ASSERT_EQ(run->pages, pages);
    ASSERT_TRUE(is_aligned(run->base, align_pages << kPageShift));
    expect_apart(run);
    if (run->fresh) {
      for (Address page = run->base; page < run->end(); page += kPageBytes) {
        ASSERT_TRUE(test::all_zero(pointer_to(page), kPageBytes)) << "fresh, but not zero";
      }
    }
    Live live{run, random_.next() | 1, random_.below(4) != 0};
    if (live.touched) mark(live, 0);
    live_[run->base] = live;
    used_ += pages;
  }

  PageRun* join(size_t pages) {
    const PageCounts before = heap_.counts();
    size_t clean = 0;
    PageRun* run = heap_.allocate_joined(pages, &clean);
    const PageCounts after = heap_.counts();
    EXPECT_EQ(before.clean - after.clean, run == nullptr ? 0 : clean);
    EXPECT_LE(clean, pages / 2);
    if (run != nullptr) ++joined_;
    return run;
  }

  void expect_apart(const PageRun* run) {
    auto next = live_.lower_bound(run->base);
    if (next != live_.end()) {
      ASSERT_LE(run->end(), next->first);
    }
    if (next != live_.begin()) {
      ASSERT_LE(std::prev(next)->second.run->end(), run->base);
    }
  }

  static void mark(const Live& live, size_t from_page) {
    for (Address page = live.run->base + from_page * kPageBytes; page < live.run->end(); page += kPageBytes) {
      word(page)[0] = live.mark;
      word(page)[511] = ~live.mark;
    }
  }

  static void expect_marked(const Live& live) {
    if (!live.touched) return;
    for (Address page = live.run->base; page < live.run->end(); page += kPageBytes) {
      ASSERT_EQ(word(page)[0], live.mark);
      ASSERT_EQ(word(page)[511], ~live.mark);
    }
  }

  void free(LiveMap::iterator at) {
    Live live = at->second;
    expect_marked(live);
    live_.erase(at);
    used_ -= live.run->pages;
    heap_.free(live.run, live.touched);
  }

  void grow(LiveMap::iterator at) {
    Live& live = at->second;
    const size_t before = live.run->pages;
    const size_t pages = before + random_.between(1, 50);
    if (!heap_.grow_in_place(live.run, pages)) {
      ASSERT_EQ(live.run->pages, before);
      return expect_marked(live);
    }
    ASSERT_EQ(live.run->pages, pages);
    used_ += pages - before;
    auto next = std::next(at);
    if (next != live_.end()) {
      ASSERT_LE(live.run->end(), next->first);
    }
    mark(live, live.touched ? before : 0);
    live.touched = true;
    expect_marked(live);
  }

  void shrink(LiveMap::iterator at) {
    Live& live = at->second;
    if (live.run->pages == 1) return;
    const size_t before = live.run->pages;
    heap_.shrink_in_place(live.run, random_.between(1, before - 1));
    ASSERT_LT(live.run->pages, before);
    used_ -= before - live.run->pages;
    expect_marked(live);
  }

  void purge() {
    const size_t dirty = heap_.dirty_pages();
    if (random_.one_in(2)) {
      const size_t held = dirty + heap_.muzzy_pages();
      const size_t keep = random_.below(held + 10);
      const size_t purged = heap_.purge_to(keep);
      ASSERT_EQ(purged, held - smaller(held, keep));
    } else {
      now_ += random_.below(100);
      heap_.decay(now_);
      ASSERT_LE(heap_.dirty_pages(), dirty);
    }
  }

  void check_counts() {
    const PageCounts counts = heap_.counts();
    ASSERT_TRUE(test::pages_add_up(counts));
    ASSERT_EQ(counts.used, used_);
    ASSERT_EQ(counts.dirty, heap_.dirty_pages());
    ASSERT_EQ(counts.muzzy, heap_.muzzy_pages());
  }

  test::Random random_;
  PageHeap& heap_;
  LiveMap live_;
  size_t used_ = 0;
  size_t joined_ = 0;
  uint64_t now_;
};

class PageHeapFuzz : public testing::TestWithParam<int> {};

TEST_P(PageHeapFuzz, AgainstAModel) {
  FuzzedPageHeap fuzz(static_cast<uint64_t>(GetParam()));
  for (int step = 0; step < 4000; ++step) {
    SCOPED_TRACE(step);
    fuzz.step();
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(fuzz.joined(), 20u);
  fuzz.finish();
}
INSTANTIATE_TEST_SUITE_P(Seeds, PageHeapFuzz, testing::Range(1, 9));

// Each thread marks its runs; now and then it gives one to the others.
void churn(PageHeap& heap, uint64_t seed, std::mutex& mutex, std::vector<PageRun*>& shared) {
  test::Random random(seed);
  std::vector<PageRun*> mine;
  auto drop = [&](PageRun* run) {
    for (Address page = run->base; page < run->end(); page += kPageBytes) ASSERT_EQ(word(page)[1], run->base);
    heap.free(run, true);
  };
  for (int step = 0; step < 3000; ++step) {
    if (mine.size() < 20) {
      PageRun* run = heap.allocate(random.between(1, 30), random.one_in(2) ? 16 : 1);
      ASSERT_NE(run, nullptr);
      for (Address page = run->base; page < run->end(); page += kPageBytes) {
        if (run->fresh) {
          ASSERT_EQ(word(page)[1], 0u);
        }
        word(page)[1] = run->base;
      }
      mine.push_back(run);
    }
    std::swap(mine[random.below(mine.size())], mine.back());
    if (random.one_in(4)) {
      std::lock_guard lock(mutex);
      shared.push_back(mine.back());
      std::swap(shared[random.below(shared.size())], shared.back());
      mine.back() = shared.back();
      shared.pop_back();
    }
    if (random.one_in(2)) {
      drop(mine.back());
      mine.pop_back();
    }
    if (random.one_in(100)) heap.purge_to(random.below(200));
  }
  for (PageRun* run : mine) drop(run);
}

TEST(PageHeapThreads, OneHeapForSeveral) {
  PageHeap& heap = test::new_page_heap();
  std::mutex mutex;
  std::vector<PageRun*> shared;
  std::vector<std::thread> threads;
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    threads.emplace_back([&, seed] { churn(heap, seed, mutex, shared); });
  }
  for (std::thread& thread : threads) thread.join();
  for (PageRun* run : shared) heap.free(run, true);
  const PageCounts counts = heap.counts();
  EXPECT_EQ(counts.used, 0u);
  EXPECT_TRUE(test::pages_add_up(counts));
  heap.purge_to(0);
  EXPECT_EQ(heap.counts().clean, counts.obtained);
}

}  // namespace
}  // namespace acre
