#include "control/thread_caches.h"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <thread>
#include <vector>

#include "cache/free.h"
#include "cache/malloc.h"
#include "cache/registry.h"

namespace acre {
namespace {

uint32_t this_number() { return static_cast<uint32_t>(syscall(SYS_gettid)); }

// The row of the calling thread; its `thread` is 0 if there is none.
ThreadCache own_row() {
  auto caches = std::make_unique<ThreadCaches>();
  caches->gather();
  ThreadCache own;
  caches->for_each([&own](const ThreadCache& cache) {
    if (cache.thread == this_number()) own = cache;
  });
  return own;
}

TEST(ThreadCaches, WhatAThreadFreesIsInItsRow) {
  std::thread([] {
    std::vector<void*> blocks;
    for (int i = 0; i < 10000; ++i) blocks.push_back(allocate(100));
    const ThreadCache before = own_row();
    EXPECT_EQ(before.owner, heap_if_any()->token);
    EXPECT_EQ(before.arena, heap_if_any()->arena->index);
    for (int i = 0; i < 5000; ++i) release(blocks[static_cast<size_t>(i) * 2]);
    const ThreadCache after = own_row();
    const uint64_t more = after.private_lists + after.deferred - before.private_lists - before.deferred;
    EXPECT_GE(more, 1000u * 112);
    EXPECT_LE(more, 5000u * 112);
    for (int i = 0; i < 5000; ++i) release(blocks[static_cast<size_t>(i) * 2 + 1]);
  }).join();
}

TEST(ThreadCaches, AnObservedHeapHasItsRow) {
  std::thread([] {
    release(allocate(100));
    heap_if_any()->set_observed(true);
    EXPECT_EQ(own_row().owner, this_thread() | kObservedBit);
    release(allocate(100));  // there are no hooks, so the heap is a usual one from here on
    const ThreadCache row = own_row();
    EXPECT_EQ(row.owner, this_thread());
    EXPECT_GT(row.private_lists + row.uncarved, 0u);
  }).join();
}

TEST(ThreadCaches, AChildsThreadHasItsOwnNumber) {
  release(allocate(100));
  const pid_t child = fork();
  if (child == 0) _exit(own_row().thread == static_cast<uint32_t>(getpid()) ? 0 : 1);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ThreadCaches, ThreadsBeyondTheTableAreCounted) {
  auto caches = std::make_unique<ThreadCaches>();
  std::vector<std::thread> threads;
  std::atomic<unsigned> ready{0};
  std::atomic<bool> done{false};
  const unsigned count = ThreadCaches::kMost + 3;
  for (unsigned i = 0; i < count; ++i) {
    threads.emplace_back([&] {
      release(allocate(16));
      ++ready;
      done.wait(false);
    });
  }
  while (ready.load() != count) std::this_thread::yield();
  caches->gather();
  unsigned told = 0;
  caches->for_each([&told](const ThreadCache&) { ++told; });
  EXPECT_EQ(told, ThreadCaches::kMost);
  EXPECT_GE(caches->left_out(), 3u);
  done = true;
  done.notify_all();
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace acre
