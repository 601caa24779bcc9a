// pages/purge: where the decay time is 0, dirty pages go back in the call that frees them.
#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <vector>

#include "acre/acre.h"
#include "acre/tcmalloc.h"
#include "ctl_calls.h"
#include "page_heap_support.h"
#include "pages/release_rate.h"

namespace acre {
namespace {

class PurgeAtOnce : public test::PageHeapTest {
 protected:
  void SetUp() override { heap.set_dirty_decay_ms(0); }
  void TearDown() override {
    release_rate::set(release_rate::kByDecay);
    PageHeapTest::TearDown();
  }
};

TEST_F(PurgeAtOnce, AFreedRun) {
  PageRun* run = allocate(400);
  touch(run);
  const Address start = run->base;
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 0u);
  EXPECT_EQ(heap.counts().purged, 400u);
  EXPECT_TRUE(test::all_zero(pointer_to(start), 400 * kPageBytes));
}

TEST_F(PurgeAtOnce, TheEndOfARun) {
  PageRun* run = allocate(400);
  touch(run);
  heap.shrink_in_place(run, 100);
  EXPECT_EQ(heap.dirty_pages(), 0u);
  EXPECT_EQ(heap.counts().purged, 300u);
}

TEST_F(PurgeAtOnce, PagesThatDecayToMuzzyOnes) {
  heap.set_muzzy_decay_ms(10000);
  PageRun* run = allocate(400);
  touch(run);
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 0u);
  EXPECT_EQ(heap.muzzy_pages(), 400u);
}

TEST_F(PurgeAtOnce, NotWhileARateHoldsOrThereIsATime) {
  release_rate::set(0);
  PageRun* run = allocate(100);
  touch(run);
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 100u);
  release_rate::set(release_rate::kByDecay);
  heap.set_dirty_decay_ms(1000);
  heap.decay(5000);
  run = allocate(50);
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 100u);
  heap.set_dirty_decay_ms(-1);
  run = allocate(50);
  heap.free(run, true);
  EXPECT_EQ(heap.dirty_pages(), 100u);
}

// Pages that cannot be purged, as after mlockall, do not cost a call of the system for each free.
TEST_F(PurgeAtOnce, WhatIsRefusedIsLeftToDecay) {
  PageRun* runs[3];
  for (PageRun*& run : runs) {
    run = allocate(10);
    touch(run);
    allocate(1);
  }
  void* const locked = pointer_to(runs[0]->base);
  ASSERT_EQ(syscall(SYS_mlock, locked, runs[0]->bytes()), 0);  // sanitizers make the function do nothing
  heap.free(runs[0], true);
  const uint64_t calls = heap.counts().purges;
  heap.free(runs[1], true);
  EXPECT_EQ(heap.counts().purges, calls);
  EXPECT_EQ(heap.dirty_pages(), 20u);
  ASSERT_EQ(syscall(SYS_munlock, locked, 10 * kPageBytes), 0);
  heap.decay(os::now_ms());
  EXPECT_EQ(heap.dirty_pages(), 0u);
  heap.free(runs[2], true);
  EXPECT_EQ(heap.dirty_pages(), 0u) << "at once again";
}

size_t unused() {
  size_t bytes = SIZE_MAX;
  EXPECT_EQ(acre_get_property("tcmalloc.pageheap_free_bytes", &bytes), 1);
  return bytes;
}

using PurgeAtOnceOfAll = test::CtlTest;

TEST_F(PurgeAtOnceOfAll, AggressiveDecommitLeavesNoDirtyPages) {
  ASSERT_EQ(acre_set_property("tcmalloc.aggressive_memory_decommit", 1), 1);
  for (size_t size : {size_t{40000}, size_t{1} << 20, size_t{60} << 20}) {
    void* block = acre_malloc(size);
    memset(block, 1, size);
    acre_free(block);
    EXPECT_EQ(unused(), 0u) << size;
  }
  void* block = acre_malloc(size_t{10} << 20);
  memset(block, 1, size_t{10} << 20);
  block = acre_realloc(block, size_t{1} << 20);
  EXPECT_EQ(unused(), 0u) << "the end of a block that shrinks";
  acre_free(block);
  std::vector<void*> blocks;
  for (int i = 0; i < 100000; ++i) blocks.push_back(memset(acre_malloc(100), 1, 100));
  for (void* p : blocks) acre_free(p);
  acre_malloc_trim(0);  // the thread's runs
  EXPECT_EQ(unused(), 0u);
}

}  // namespace
}  // namespace acre
