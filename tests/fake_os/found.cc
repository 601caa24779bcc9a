// What whole_core.cc has found, each by itself; memory beyond what acre can use; and decay by a clock that a test
// moves.
#include <gtest/gtest.h>

#include <sys/mman.h>

#include <cerrno>
#include <cstring>

#include "../unit/support.h"
#include "acre/acre.h"
#include "acre/heap.h"
#include "cache/registry.h"
#include "child.h"
#include "kernel.h"
#include "manual/manual_arena.h"
#include "pages/huge.h"

namespace acre::fake_os {
namespace {

using kernel::Kind;
using kernel::Layout;

constexpr uint64_t kEvery = uint64_t{1} << 40;

// A purge of a part of a run is refused. The part's header was a clean run's before.
void refuse_purge_of_a_part() {
  PageHeap& heap = test::new_page_heap();
  heap.set_dirty_decay_ms(-1);
  PageRun* clean[4];
  for (PageRun*& run : clean) run = heap.allocate(50, 1);
  for (PageRun* run : clean) heap.free(run, false);  // they become one run, and three headers are spare
  heap.allocate(10, 1);  // so that whole huge pages do not begin where the next run does
  PageRun* first = heap.allocate(3 * kPagesPerHugePage - 10, 1);
  memset(pointer_to(first->base), 1, first->bytes());
  const Address start = first->base;
  const size_t pages = first->pages;
  heap.free(first, true);
  kernel::begin(Layout::kOrdinary);
  kernel::refuse(0, kEvery, kernel::bit_of(Kind::kAdvise));
  FAKE_OS_CHECK(heap.purge_to(10) == 0 && kernel::has_refused());
  kernel::refuse_nothing();
  FAKE_OS_CHECK(heap.counts().dirty == pages);
  PageRun* again = heap.allocate(pages, 1);
  FAKE_OS_CHECK(again->base == start && !again->fresh);
}

TEST(Found, ARefusedPurgeLeavesPagesDirty) { EXPECT_EQ(in_child(refuse_purge_of_a_part), ""); }

int64_t unaccounted() {
  return kernel::mapped_bytes() - static_cast<int64_t>(window::mapped_bytes() + bytes_of_own_structures() +
                                                       huge::counts().bytes);
}

// The kernel refuses to move before it has unmapped anything: the process has too many mappings.
void refuse_moves() {
  acre_free(acre_malloc(kMiB));
  kernel::begin(Layout::kOrdinary);
  const int64_t before = unaccounted();
  for (size_t bytes : {5 * kMiB, 100 * kMiB}) {
    auto* block = static_cast<char*>(acre_malloc(bytes));
    memset(block, 7, kMiB);
    kernel::refuse(0, kEvery, kernel::bit_of(Kind::kRemap));
    for (int i = 0; i < 3; ++i) {
      block = static_cast<char*>(acre_realloc(block, bytes *= 2));
      FAKE_OS_CHECK(block[0] == 7 && block[kMiB - 1] == 7);
      acre_free(acre_malloc(bytes / 2));
    }
    FAKE_OS_CHECK(kernel::has_refused());
    kernel::refuse_nothing();
    acre_free(block);
    FAKE_OS_CHECK(unaccounted() == before);
  }
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  FAKE_OS_CHECK(arenas::at(0)->pages.counts().used == 0 && huge::counts().blocks == 0);
}

TEST(Found, ARefusedMoveLosesNoMemory) { EXPECT_EQ(in_child(refuse_moves), ""); }

// Whole blocks and the end of one that shrinks are given back while the kernel refuses to unmap, and to purge, too.
void refuse_to_take_back() {
  constexpr size_t kBytes = 100 * kMiB;
  acre_free(acre_malloc(kMiB));
  kernel::begin(Layout::kOrdinary);
  const size_t before = os::resident_bytes();
  void* blocks[2];
  for (void*& block : blocks) memset(block = acre_malloc(kBytes), 7, kBytes);
  kernel::refuse(0, kEvery, kernel::bit_of(Kind::kUnmap) | kernel::bit_of(Kind::kAdvise));
  blocks[0] = acre_realloc(blocks[0], kBytes - 30 * kMiB);
  for (void* block : blocks) acre_free(block);
  FAKE_OS_CHECK(kernel::has_refused());
  kernel::refuse_nothing();
  FAKE_OS_CHECK(os::resident_bytes() > before + 2 * kBytes - kMiB);
  for (int i = 0; i < 3; ++i) acre_free(acre_malloc(kBytes));  // each offers a piece again
  FAKE_OS_CHECK(os::resident_bytes() < before + (kernel::is_emulated() ? 10 * kMiB : kMiB));
}

TEST(Found, MemoryThatTheKernelRefusesToTakeBackGoesBackLater) { EXPECT_EQ(in_child(refuse_to_take_back), ""); }

// A huge block of a file is freed. Between the kernel's munmap and the return from it a block of the file is mapped at
// the same address, as another thread may do.
ManualArena* g_arena = nullptr;
char* g_mapped_meanwhile = nullptr;
uint64_t g_unmapped_at = 0;
constexpr size_t kOfFile = 100 * kMiB;

void map_meanwhile(uint64_t address) {
  g_unmapped_at = address;
  kernel::place_next_at(address);
  g_mapped_meanwhile = static_cast<char*>(arenas::allocate_in(*g_arena, kOfFile, 1, false));
  memset(g_mapped_meanwhile, 7, kOfFile);
}

void unmap_beside_another_thread() {
  FileSettings file;
  file.path = "/dev/shm";
  arenas::ArenaSettings settings;
  settings.file = &file;
  g_arena = arenas::create(settings);
  FAKE_OS_CHECK(g_arena != nullptr);
  kernel::begin(Layout::kOrdinary);
  acre_free(arenas::allocate_in(*g_arena, kOfFile, 1, false));  // acre's own structures for it are there then
  void* block = arenas::allocate_in(*g_arena, kOfFile, 1, false);
  memset(block, 1, kOfFile);
  kernel::after_next_unmap(map_meanwhile);
  acre_free(block);
  FAKE_OS_CHECK(g_mapped_meanwhile != nullptr && g_unmapped_at == address_of(g_mapped_meanwhile));
  for (size_t i = 0; i < kOfFile; i += kPageBytes) FAKE_OS_CHECK(g_mapped_meanwhile[i] == 7);
  auto* next = static_cast<char*>(arenas::allocate_in(*g_arena, kOfFile, 1, true));
  FAKE_OS_CHECK(test::all_zero(next, kOfFile));
  memset(next, 2, kOfFile);
  for (size_t i = 0; i < kOfFile; i += kPageBytes) FAKE_OS_CHECK(g_mapped_meanwhile[i] == 7);
}

TEST(Found, APartOfAFileIsGivenUpBeforeItsAddressesAre) { EXPECT_EQ(in_child(unmap_beside_another_thread), ""); }

// --- Beyond what the page map can note: 2^48 ------------------------------------------------------------------------

// With 5-level paging mmap gives such addresses to who asks for them. They go back, and the request is refused.
constexpr uint64_t kFarAway = uint64_t{1} << 52;
unsigned g_given = 0, g_taken_back = 0;

void* give_far_away(extent_hooks_t*, void*, size_t, size_t, bool* zero, bool* commit, unsigned) {
  *zero = *commit = true;
  return pointer_to(kFarAway + (uint64_t{++g_given} << 40));
}
bool take_back(extent_hooks_t*, void* start, size_t, bool, unsigned) {
  g_taken_back += address_of(start) >= kFarAway;
  return false;
}

void use_memory_far_away() {
  static extent_hooks_t hooks = {};
  hooks.alloc = give_far_away;
  hooks.dalloc = take_back;
  acre_heap_settings settings = {};
  settings.hooks = &hooks;
  acre_heap_t* heap = acre_heap_create(&settings);
  FAKE_OS_CHECK(heap != nullptr);
  for (size_t size : {size_t{100}, size_t{100000}, 70 * kMiB}) {
    errno = 0;
    FAKE_OS_CHECK(acre_heap_malloc(heap, size) == nullptr && errno == ENOMEM);
  }
  FAKE_OS_CHECK(g_given != 0 && g_taken_back == g_given);
  acre_heap_destroy(heap);
}

TEST(FarAway, WhatAProgramGivesGoesBackToIt) { EXPECT_EQ(in_child(use_memory_far_away), ""); }

// --- Decay --------------------------------------------------------------------------------------------------------

PageCounts counts() { return arenas::at(0)->pages.counts(); }

// Small blocks until the thread has looked at the clock several times.
void let_time_be_looked_at() {
  void* blocks[2000];
  for (int round = 0; round < 20; ++round) {
    for (void*& block : blocks) block = acre_malloc(100);
    for (void* block : blocks) acre_free(block);
  }
}

void decay_by_the_clock() {
  kernel::begin(Layout::kOrdinary);
  kernel::stop_clock();
  let_time_be_looked_at();  // there is an arena
  const ssize_t decay_ms = 1000;
  FAKE_OS_CHECK(acre_mallctl("arena.4096.dirty_decay_ms", nullptr, nullptr, const_cast<ssize_t*>(&decay_ms),
                             sizeof decay_ms) == 0);
  void* block = acre_malloc(20 * kMiB);
  memset(block, 1, 20 * kMiB);
  acre_free(block);
  const size_t dirty = counts().dirty;
  FAKE_OS_CHECK(dirty >= 20 * kMiB / kPageBytes);
  const uint64_t advised = kernel::advised();
  let_time_be_looked_at();
  FAKE_OS_CHECK(kernel::advised() == advised);  // no time has passed
  size_t before = dirty;
  for (int tenth = 1; tenth < 10; ++tenth) {
    kernel::move_clock(100);
    let_time_be_looked_at();
    FAKE_OS_CHECK(counts().dirty <= before);
    before = counts().dirty;
    if (tenth == 5) FAKE_OS_CHECK(before > dirty / 4 && before < dirty * 3 / 4);  // half, by the curve
  }
  kernel::move_clock(120);
  let_time_be_looked_at();
  FAKE_OS_CHECK(counts().dirty < dirty / 50);
}

TEST(Clock, PagesDecayWhenItSaysSo) { EXPECT_EQ(in_child(decay_by_the_clock), ""); }

}  // namespace
}  // namespace acre::fake_os
