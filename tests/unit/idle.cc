// reclaim/idle: other threads reclaim what idle threads keep.
#include "cache/owner_at_work.h"
#include "cache/upcalls.h"
#include "reclaim/idle.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <vector>

#include "acre/jemalloc.h"
#include "cache/free.h"
#include "cache/registry.h"
#include "heap_support.h"
#include "slab/reclaim.h"
#include "slab/unit_table.h"
#include "support.h"
#include "worker.h"

namespace acre {
namespace {

using test::my_heap;
using test::next_second;
using test::Worker;

void look() { test::look_at_all(&my_heap()); }

struct Filled {
  std::vector<void*> blocks;
  Heap* heap = nullptr;

  // The caller, which looks, has its runs from here on: to make one would be to grow, and a look more.
  Filled() { my_heap(); }

  // Leaves runs of several classes adopted and available, with blocks alive in all of them. Blocks are freed past the
  // private lists, which reclaimers leave alone.
  void fill() {
    for (size_t i = 0; i < 4000; ++i) blocks.push_back(acre_malloc(300 + i % 5 * 200));
    std::vector<void*> kept;
    for (size_t i = 0; i < blocks.size(); ++i) {
      if (i % 3 == 0) {
        acre_dallocx(blocks[i], MALLOCX_TCACHE_NONE);
      } else {
        kept.push_back(blocks[i]);
      }
    }
    blocks = kept;
    heap = heap_if_any();
  }

  void free_all() {
    for (void* block : blocks) acre_dallocx(block, MALLOCX_TCACHE_NONE);
    blocks.clear();
    my_heap().outbox().flush();
  }
};

TEST(IdleHeap, LosesRunsInWhichNothingLives) {
  Worker worker;
  Filled filled;
  worker.run([&] { filled.fill(); });
  const size_t kept = filled.heap->kept_pages;
  ASSERT_GT(kept, 100u);
  filled.free_all();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(filled.heap->kept_pages, 0u);
  EXPECT_EQ(filled.heap->shared, nullptr);
  worker.run([&] {
    for (SizeClass c = 0; c < kSmallClasses; ++c) EXPECT_EQ(filled.heap->use(c).lists.available_count, 0u);
    filled.fill();  // its heap is as good as ever
  });
  filled.free_all();
}

uint32_t free_quarters(const Slab* slab) {
  return 4 * (slab->capacity - slab::used(slab) + load_remote(slab).free) / slab->capacity;
}

size_t runs_on(const RunList& list, uint32_t least, uint32_t most) {
  size_t runs = 0;
  for (Slab* slab = list.newest(); slab != nullptr; slab = slab->node.next) {
    runs += free_quarters(slab) >= least && free_quarters(slab) <= most;
  }
  return runs;
}

// Of which so many quarters are free.
size_t runs_kept(const Heap& heap, uint32_t least, uint32_t most) {
  size_t runs = runs_on(heap.adopted, least, most);
  for (SizeClass c = 0; c < kSmallClasses; ++c) runs += runs_on(heap.use(c).lists.available, least, most);
  return runs;
}

void announce_while_growing() {
  for (int i = 0; i < 2; ++i) {
    test::wait_between_looks();
    reclaim_while_growing(my_heap());
  }
}

// The steps of a look follow each other at once. A look is over when nothing is announced.
void go_on_while_growing(const Heap& heap) {
  test::wait_between_looks();
  for (int step = 0; step < 100 && heap.reclaim.load() != Reclaim::kNone; ++step) reclaim_while_growing(my_heap());
}

// Frees those that do not stay, by their numbers.
std::vector<void*> thin_out(const std::vector<void*>& blocks, bool (*stays)(size_t number)) {
  std::vector<void*> left;
  for (size_t i = 0; i < blocks.size(); ++i) {
    stays(i) ? left.push_back(blocks[i]) : acre_free(blocks[i]);
  }
  return left;
}

// Without the interval that looks on ticks keep to; but nothing is taken yet where the reclaim was announced just now. Runs of which less
// than half is free stay.
TEST(IdleHeap, AGrowingThreadDoesNotWaitForATick) {
  Worker worker;
  Filled filled, more;
  worker.run([&] {
    filled.fill();  // a third is free
    more.fill();
    more.blocks = thin_out(more.blocks, [](size_t i) { return i % 2 != 0; });
  });
  const size_t others = runs_kept(*filled.heap, 0, 1);
  ASSERT_GT(runs_kept(*filled.heap, 2, 4), 10u);
  ASSERT_GT(others, 10u);
  announce_while_growing();
  EXPECT_EQ(filled.heap->reclaim.load(), Reclaim::kAnnounced);
  EXPECT_GT(runs_kept(*filled.heap, 2, 4), 10u);
  go_on_while_growing(*filled.heap);
  EXPECT_EQ(filled.heap->reclaim.load(), Reclaim::kNone);
  EXPECT_EQ(runs_kept(*filled.heap, 2, 4), 0u);
  EXPECT_EQ(runs_kept(*filled.heap, 0, 1), others);
  filled.free_all();
  more.free_all();
}

// One that may only wait for a processor loses what is nearly free at first.
TEST(IdleHeap, AThreadThatWasStillForShortKeepsWhatIsHalfFree) {
  Worker worker;
  Filled half, nearly;
  worker.run([&] {
    half.fill();
    nearly.fill();
    half.blocks = thin_out(half.blocks, [](size_t i) { return i % 3 != 0; });
    nearly.blocks = thin_out(nearly.blocks, [](size_t i) { return i % 16 == 0; });
  });
  const size_t others = runs_kept(*half.heap, 0, 2);
  ASSERT_GT(runs_kept(*half.heap, 3, 4), 10u);
  ASSERT_GT(runs_kept(*half.heap, 2, 2), 10u);
  announce_while_growing();
  half.heap->still_since_ns = os::now_ns() + 1'000'000'000'000;  // however slow this machine is
  go_on_while_growing(*half.heap);
  EXPECT_EQ(half.heap->reclaim.load(), Reclaim::kNone);
  EXPECT_EQ(runs_kept(*half.heap, 3, 4), 0u);
  EXPECT_EQ(runs_kept(*half.heap, 0, 2), others);
  half.free_all();
  nearly.free_all();
}

// A look that comes too soon after another leaves a reclaim announced.
TEST(IdleHeap, LooksAreSomeTimeApart) {
  Worker worker;
  Filled filled;
  worker.run([&] {
    filled.fill();
    filled.blocks = thin_out(filled.blocks, [](size_t i) { return i % 2 != 0; });
  });
  for (int tries = 0; tries < 100; ++tries) {
    announce_while_growing();
    const uint64_t begin = os::now_ns();
    const bool was_announced = filled.heap->reclaim.load() == Reclaim::kAnnounced;
    reclaim_while_growing(my_heap());
    if (os::now_ns() - begin > 100'000 || !was_announced) continue;  // another look was due by then, or a reclaim came
    EXPECT_EQ(filled.heap->reclaim.load(), Reclaim::kAnnounced);
    return filled.free_all();
  }
  filled.free_all();
  GTEST_SKIP() << "this machine was never quick enough";
}

size_t used_pages() {
  empty_heap(my_heap());
  size_t pages = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) pages += arenas::at(i)->pages.counts().used;
  return pages;
}

// Blocks of runs in which others live: a second worker gets them while the first one sleeps.
TEST(IdleHeap, RunsInWhichSomethingLivesCanBeHadByOthers) {
  Worker sleeper, worker;
  Filled theirs, mine;
  sleeper.run([&] { theirs.fill(); });
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(theirs.heap->kept_pages, 0u);
  ASSERT_NE(theirs.heap->shared, nullptr);
  for (Slab* slab = theirs.heap->shared; slab != nullptr; slab = slab->next) {
    EXPECT_TRUE(is_shared(load_remote(slab).state));
    EXPECT_EQ(slab->owner, kNoThread);
  }

  const size_t before = used_pages();
  worker.run([&] {
    for (size_t i = 0; i < 1000; ++i) mine.blocks.push_back(acre_malloc(300 + i % 5 * 200));
    for (void* block : mine.blocks) memset(block, 7, 300);
  });
  EXPECT_LE(used_pages(), before + 5 * 8) << "at most what two threads have as current runs is new";

  worker.run([&] {
    mine.free_all();
    empty_heap(my_heap());  // its private lists are of these runs
  });
  theirs.free_all();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(theirs.heap->shared, nullptr) << "only the hostages were left";
}

TEST(IdleHeap, GetsItsSharedRunsBackWhenItWakes) {
  Worker worker;
  Filled filled;
  worker.run([&] { filled.fill(); });
  for (int i = 0; i < 4; ++i) look();
  std::vector<Slab*> shared;
  for (Slab* slab = filled.heap->shared; slab != nullptr; slab = slab->next) shared.push_back(slab);
  ASSERT_FALSE(shared.empty());
  worker.run([&] { collect_step(*filled.heap); });
  EXPECT_EQ(filled.heap->shared, nullptr);
  for (Slab* slab : shared) {
    EXPECT_FALSE(is_shared(load_remote(slab).state));
    EXPECT_TRUE(slab->deferred == nullptr);
  }
  filled.free_all();
}

// It was in the midst of a free when its runs were taken; meanwhile others have used these, and it goes on.
TEST(IdleHeap, AFreeThatWasUnderWayLosesNothing) {
  Worker worker;
  Filled filled;
  worker.run([&] { filled.fill(); });
  for (int i = 0; i < 4; ++i) look();
  Slab* slab = filled.heap->shared;
  ASSERT_NE(slab, nullptr);
  const auto late = std::find_if(filled.blocks.begin(), filled.blocks.end(),
                                 [&](void* block) { return unit_table::at(block) == slab; });
  ASSERT_NE(late, filled.blocks.end());
  Filled others;
  Worker other;
  other.run([&] {
    for (size_t i = 0; i < 3000; ++i) others.blocks.push_back(acre_malloc(slab->block_bytes));
  });
  worker.run([&] { slab::defer(slab, *late); });
  filled.blocks.erase(late);
  EXPECT_EQ(walk_list(slab, slab->deferred).count, 2u);
  filled.free_all();
  other.run([&] {
    others.free_all();
    empty_heap(my_heap());
  });
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(filled.heap->shared, slab) << "with a late block it is not all free";
  worker.run([&] { unshare_runs(*filled.heap); });
  EXPECT_EQ(slab->base, 0u) << "all free now";
}

// The owner's last free may have counted down to zero just before the reclaim; its event then comes too late.
TEST(IdleHeap, AnEventForARunThatIsGoneChangesNothing) {
  Worker worker;
  Filled filled;
  Slab* slab = nullptr;
  worker.run([&] {
    filled.fill();
    slab = filled.heap->use(class_of_size(300)).lists.available.newest();
    ASSERT_NE(slab, nullptr);
  });
  filled.free_all();
  for (int i = 0; i < 4; ++i) look();
  ASSERT_EQ(filled.heap->kept_pages, 0u);
  worker.run([&] { release_event(slab); });
  EXPECT_EQ(filled.heap->kept_pages, 0u);
  EXPECT_EQ(filled.heap->use(class_of_size(300)).lists.empties, 0u);
  EXPECT_EQ(slab->owner, kNoThread);
}

TEST(IdleHeap, OutboxIsSentOff) {
  std::vector<void*> mine;
  for (int i = 0; i < 2; ++i) mine.push_back(acre_malloc(1234));
  Worker worker;
  Heap* heap = nullptr;
  worker.run([&] {
    heap = &my_heap();
    for (void* block : mine) acre_free(block);
    EXPECT_TRUE(heap->outbox().holds(unit_table::at(mine[0]), mine[0]));
  });
  for (int i = 0; i < 4; ++i) look();
  EXPECT_FALSE(heap->outbox().holds(unit_table::at(mine[0]), mine[0]));
}

// The background thread goes to sleep by this.
TEST(IdleHeap, ALookTellsWhetherAnythingHasChanged) {
  Worker worker;
  worker.run([] { my_heap(); });
  my_heap();
  look();  // the first in a process only begins the time
  const uint64_t now = next_second();
  EXPECT_EQ(idle::look_around(nullptr, now), idle::Look::kBusy) << "few heaps are one step";
  EXPECT_EQ(idle::look_around(nullptr, now + 1), idle::Look::kTooEarly);
  EXPECT_EQ(idle::look_around(nullptr, next_second()), idle::Look::kQuiet);
  EXPECT_EQ(idle::look_around(nullptr, next_second()), idle::Look::kQuiet);
  worker.run([] {
    for (int i = 0; i < 100; ++i) acre_free(acre_malloc(100000));
  });
  EXPECT_EQ(idle::look_around(nullptr, next_second()), idle::Look::kBusy);
}

// A thread that keeps more runs than a step looks at.
struct Many {
  Worker worker;
  Filled filled;
  size_t runs = 0;

  Many() {
    worker.run([&] {
      for (int i = 0; i < 5; ++i) filled.fill();
    });
    runs = runs_kept(*filled.heap, 0, 4);
    filled.free_all();
    while (filled.heap->reclaim.load() != Reclaim::kAnnounced) look();
  }

  size_t left() const { return runs_kept(*filled.heap, 0, 4); }
  idle::Look take_step() { return idle::look_around(&my_heap(), next_second()); }
};

TEST(IdleHeap, LosesItsRunsInSteps) {
  constexpr size_t kMostRuns = 64;
  Many many;
  ASSERT_GT(many.runs, 2 * kMostRuns);
  for (size_t before = many.left(); before > kMostRuns; before = many.left()) {
    ASSERT_EQ(many.take_step(), idle::Look::kNotDone);
    EXPECT_EQ(many.filled.heap->reclaim.load(), Reclaim::kAnnounced);
    EXPECT_LT(many.left(), before);
    EXPECT_GE(many.left() + kMostRuns, before);
  }
  look();
  EXPECT_EQ(many.left(), 0u);
  EXPECT_EQ(many.filled.heap->kept_pages, 0u);
}

TEST(BusyHeap, KeepsWhatAReclaimInStepsHasNotTaken) {
  Many many;
  ASSERT_EQ(many.take_step(), idle::Look::kNotDone);
  const size_t left = many.left();
  ASSERT_GT(left, 0u);
  many.worker.run([&] {
    { const OwnerAtWork busy(*many.filled.heap); }
    EXPECT_EQ(many.filled.heap->reclaim.load(), Reclaim::kNone);
    many.filled.fill();
  });
  EXPECT_GT(many.left(), 0u);
  many.filled.free_all();
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(many.left(), 0u);
}

TEST(BusyHeap, WithdrawsTheAnnouncement) {
  Worker worker;
  Filled filled;
  worker.run([&] { filled.fill(); });
  filled.free_all();
  look();
  look();
  ASSERT_EQ(filled.heap->reclaim.load(), Reclaim::kAnnounced);
  worker.run([&] { const OwnerAtWork busy(*filled.heap); });
  EXPECT_EQ(filled.heap->reclaim.load(), Reclaim::kNone);
}

TEST(BusyHeap, IsLeftAlone) {
  Worker worker;
  Filled filled;
  worker.run([&] { filled.fill(); });
  filled.free_all();
  const size_t kept = filled.heap->kept_pages;
  filled.heap->inside.store(1);  // as if it slept in the midst of a change
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(filled.heap->kept_pages, kept);
  filled.heap->inside.store(0);
  for (int i = 0; i < 4; ++i) look();
  EXPECT_EQ(filled.heap->kept_pages, 0u);
}

// Threads that free and allocate while others reclaim from them, as often as a millisecond apart.
TEST(IdleHeap, VisitsToThreadsThatAreNotIdleDoNoHarm) {
  constexpr unsigned kThreads = 4;
  constexpr size_t kSlots = 2000;
  static std::atomic<void*> slots[kThreads][kSlots];
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(t);
      while (!stop) {
        const unsigned whose = random.one_in(3) ? static_cast<unsigned>(random.below(kThreads)) : t;
        const size_t size = random.between(8, 3000);
        void* block = nullptr;
        if (!random.one_in(3)) {
          block = acre_malloc(size);
          memset(block, static_cast<int>(t), size);
        }
        acre_free(slots[whose][random.below(kSlots)].exchange(block));
        if (random.one_in(5000)) std::this_thread::sleep_for(std::chrono::milliseconds(3));
      }
    });
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1500);
  while (std::chrono::steady_clock::now() < end) {
    look();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  for (auto& own : slots) {
    for (auto& slot : own) acre_free(slot.exchange(nullptr));
  }
  for (unsigned i = 0; i < arenas::count(); ++i) EXPECT_TRUE(test::pages_add_up(arenas::at(i)->pages.counts()));
}

}  // namespace
}  // namespace acre
