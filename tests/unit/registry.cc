// cache/registry: threads come and go, and leave nothing behind.
#include "cache/registry.h"

#include <gtest/gtest.h>

#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "support.h"
#include "worker.h"

namespace acre {
namespace {

using test::Worker;

size_t pages_in_use() {
  size_t pages = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) pages += arenas::at(i)->pages.counts().used;
  return pages;
}

unsigned bound_threads() {
  unsigned threads = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) threads += arenas::at(i)->threads;
  return threads;
}

void live_a_little(uint64_t seed) {
  test::Random random(seed);
  std::vector<void*> blocks;
  for (int i = 0; i < 500; ++i) {
    blocks.push_back(acre_malloc(random.between(1, 5000)));
    ASSERT_NE(blocks.back(), nullptr);
  }
  for (void* block : blocks) acre_free(block);
}

TEST(Registry, AThreadGetsItsHeapWithItsFirstAllocation) {
  const unsigned before = registry::live_heaps();
  std::thread([before] {
    EXPECT_EQ(heap_if_any(), nullptr);
    acre_free(nullptr);
    EXPECT_EQ(heap_if_any(), nullptr) << "to free needs none";
    live_a_little(1);
    ASSERT_NE(heap_if_any(), nullptr);
    EXPECT_EQ(heap_if_any()->token, this_thread());
    EXPECT_EQ(registry::live_heaps(), before + 1);
  }).join();
  EXPECT_EQ(registry::live_heaps(), before);
}

TEST(Registry, AThreadThatOnlyFreesLargeBlocksGetsNoHeapAndMakesNone) {
  std::vector<void*> blocks;
  for (size_t size : {size_t{100000}, size_t{10} << 20, size_t{70} << 20}) {
    blocks.push_back(acre_malloc(size));
  }
  const unsigned before = registry::live_heaps();
  std::thread([&] {
    for (void* block : blocks) acre_free(block);
    EXPECT_EQ(heap_if_any(), nullptr);
    EXPECT_EQ(registry::live_heaps(), before);
  }).join();
  EXPECT_EQ(registry::live_heaps(), before);
}

// It has an outbox then.
TEST(Registry, AThreadThatFreesASmallBlockGetsAHeap) {
  void* block = acre_malloc(100);
  const unsigned before = registry::live_heaps();
  std::thread([&] {
    acre_free(block);
    EXPECT_NE(heap_if_any(), nullptr);
    EXPECT_EQ(registry::live_heaps(), before + 1);
  }).join();
  EXPECT_EQ(registry::live_heaps(), before);
}

TEST(Registry, EndedThreadsLeaveNothing) {
  live_a_little(1);
  std::thread(live_a_little, 2).join();
  empty_heap(*heap_if_any());
  const size_t pages = pages_in_use();
  const size_t metadata = metadata::allocated_bytes();
  const unsigned bound = bound_threads();
  for (uint64_t i = 0; i < 200; ++i) std::thread(live_a_little, i).join();
  EXPECT_EQ(pages_in_use(), pages);
  EXPECT_EQ(bound_threads(), bound);
  EXPECT_LE(metadata::allocated_bytes() - metadata, size_t{64} << 10) << "heaps are used again";
}

TEST(Registry, BlocksOutliveTheirThread) {
  std::vector<void*> blocks;
  live_a_little(1);
  empty_heap(*heap_if_any());
  const size_t pages = pages_in_use();
  std::thread([&] {
    for (size_t i = 0; i < 3000; ++i) blocks.push_back(memset(acre_malloc(200), static_cast<int>(i), 200));
  }).join();
  for (size_t i = 0; i < blocks.size(); ++i) {
    ASSERT_EQ(static_cast<unsigned char*>(blocks[i])[199], i % 256);
    acre_free(blocks[i]);
  }
  empty_heap(*heap_if_any());
  EXPECT_EQ(pages_in_use(), pages);
}

TEST(Registry, ThreadsAtOnceAreSpreadOverArenas) {
  live_a_little(1);
  constexpr unsigned kThreads = 6;
  std::atomic<unsigned> born{0};
  std::vector<Arena*> arenas(kThreads);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      acre_free(acre_malloc(1));
      arenas[i] = heap_if_any()->arena;
      ++born;
      while (born < kThreads) std::this_thread::yield();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(arenas::count(), arenas::most());
  for (unsigned i = 0; i < arenas::count(); ++i) {
    EXPECT_EQ(arenas::at(i)->index, i);
    const auto here = std::count(arenas.begin(), arenas.end(), arenas::at(i));
    EXPECT_LE(here, static_cast<long>((kThreads + 1) / smaller(arenas::most(), kThreads + 1) + 1));
  }
}

// What a thread leaves is in its processor's caches.
TEST(Registry, AThreadGetsWhatOneBeforeItOnItsProcessorHasLeft) {
  live_a_little(1);
  const auto heap_of_a_thread_on = [](int processor) {
    Heap* heap = nullptr;
    std::thread([&] {
      cpu_set_t set;
      CPU_ZERO(&set);
      CPU_SET(processor, &set);
      if (sched_setaffinity(0, sizeof set, &set) != 0) return;
      acre_free(acre_malloc(1));
      heap = heap_if_any();
    }).join();
    return heap;
  };
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  std::vector<int> processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &all)) processors.push_back(i);
  }
  if (processors.size() < 2) GTEST_SKIP() << "there is one processor";
  const int one = processors[0], other = processors[1];
  Heap* const first = heap_of_a_thread_on(one);
  if (first == nullptr) GTEST_SKIP() << "threads may not be pinned here";
  EXPECT_EQ(heap_of_a_thread_on(one), first);
  EXPECT_EQ(heap_of_a_thread_on(one)->arena, first->arena);
  Heap* const second = heap_of_a_thread_on(other);
  EXPECT_EQ(heap_of_a_thread_on(other), second);
}

// While heaps are visited in parts, threads end and begin. They allocate nothing, since looks at idle threads are such
// visits.
TEST(Registry, VisitsInTurnReachEachHeapOnce) {
  struct Visits {
    std::vector<const Heap*> seen;
    size_t most = 1;
    static bool visit(Heap& heap, void* argument) {
      Visits& visits = *static_cast<Visits*>(argument);
      if (visits.most == 0) return false;
      --visits.most;
      visits.seen.push_back(&heap);
      return true;
    }
  };
  live_a_little(1);
  Worker first, second, third;
  for (Worker* worker : {&first, &second, &third}) worker->run([] { live_a_little(2); });
  Visits visits;
  visits.most = SIZE_MAX;
  while (!registry::for_each_in_turn(Visits::visit, &visits)) {
  }
  visits = {};
  const unsigned live = registry::live_heaps();
  while (!registry::for_each_in_turn(Visits::visit, &visits)) {
    visits.most = 1;
    std::thread([] { registry::initialize_thread(); }).join();  // comes before the others
  }
  EXPECT_EQ(visits.seen.size(), live);
  std::sort(visits.seen.begin(), visits.seen.end());
  EXPECT_EQ(std::unique(visits.seen.begin(), visits.seen.end()), visits.seen.end());
  // The heap that comes next ends meanwhile; then, without others behind it, the visits are at their end.
  std::atomic<bool> end{false};
  std::atomic<bool> begun{false};
  std::thread newest([&] {
    registry::initialize_thread();
    begun = true;
    while (!end) std::this_thread::yield();
  });
  while (!begun) std::this_thread::yield();
  visits = {};
  visits.most = 0;
  EXPECT_FALSE(registry::for_each_in_turn(Visits::visit, &visits));
  end = true;
  newest.join();
  visits.most = SIZE_MAX;
  EXPECT_TRUE(registry::for_each_in_turn(Visits::visit, &visits));
  EXPECT_EQ(visits.seen.size(), live);
}

TEST(Registry, ARefusedBirthIsTriedAgain) {
  std::thread([] {
    os::testing::refuse_requests(0, 1000000);
    // Spare heaps and free pages may make it possible all the same.
    void* p = acre_malloc(size_t{200} << 20);
    EXPECT_EQ(p, nullptr);
    os::testing::refuse_nothing();
    live_a_little(3);
  }).join();
}

TEST(Registry, TheChildOfAForkHasOneHeap) {
  live_a_little(1);
  const unsigned shared = registry::live_heaps() - 1;  // that other tests in this process have left
  const unsigned bound = bound_threads();
  const pid_t child = fork();
  if (child == 0) {
    const bool one = registry::live_heaps() == 1 + shared && bound_threads() == bound;
    live_a_little(2);
    _exit(one ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace acre
