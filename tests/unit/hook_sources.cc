// pages/source: memory from the program's hooks, and from the data segment.
#include "pages/source.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <map>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/heap.h"
#include "manual/manual_arena.h"
#include "pages/limit.h"
#include "sources_support.h"
#include "tables/options.h"

namespace acre {
namespace {

// Hooks over mappings, which remember what was asked of them.
struct Hooks : extent_hooks_t {
  std::map<void*, size_t> live;
  int declines = 0;       // this many calls of dalloc
  void* next = nullptr;   // where the next memory is, if anywhere
  size_t refuse_from = SIZE_MAX;
  size_t lazily = 0, forced = 0, destroyed = 0;
  unsigned number = 0;

  Hooks() : extent_hooks_t{} {
    alloc = [](extent_hooks_t* self, void* at, size_t size, size_t alignment, bool* zero, bool* commit, unsigned n) {
      auto* hooks = static_cast<Hooks*>(self);
      hooks->number = n;
      if (at != nullptr || hooks->live.size() >= hooks->refuse_from) return static_cast<void*>(nullptr);
      EXPECT_TRUE(*commit);
      void* p = hooks->next != nullptr ? hooks->next : pointer_to(map_anonymous(size, alignment));
      hooks->next = nullptr;
      memset(p, 0x33, smaller<size_t>(size, 8 * kMiB));
      EXPECT_FALSE(*zero);
      hooks->live[p] = size;
      return p;
    };
    dalloc = [](extent_hooks_t* self, void* p, size_t size, bool, unsigned) {
      auto* hooks = static_cast<Hooks*>(self);
      if (hooks->declines > 0 && hooks->declines-- > 0) return true;
      EXPECT_EQ(hooks->live[p], size);
      hooks->live.erase(p);
      os::unmap(p, size);
      return false;
    };
    destroy = [](extent_hooks_t* self, void* p, size_t size, bool, unsigned) {
      auto* hooks = static_cast<Hooks*>(self);
      EXPECT_EQ(hooks->live[p], size);
      hooks->live.erase(p);
      ++hooks->destroyed;
    };
    purge_lazy = [](extent_hooks_t* self, void*, size_t, size_t, size_t, unsigned) {
      ++static_cast<Hooks*>(self)->lazily;
      return false;
    };
    purge_forced = [](extent_hooks_t* self, void* p, size_t, size_t offset, size_t length, unsigned) {
      ++static_cast<Hooks*>(self)->forced;
      return !os::purge(static_cast<char*>(p) + offset, length);
    };
  }
  bool covers(const void* p) const {
    auto after = live.upper_bound(const_cast<void*>(p));
    if (after == live.begin()) return false;
    --after;
    return address_of(p) < address_of(after->first) + after->second;
  }
  ManualArena* make() {
    arenas::ArenaSettings settings;
    settings.hooks = this;
    return arenas::create(settings);
  }
};

TEST(HookSources, AllMemoryComesFromThemAndGoesBack) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  for (size_t n : {size_t{10}, size_t{10000}, kMiB, 80 * kMiB}) {
    void* p = allocate(arena, n, true);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(hooks.covers(p)) << n;
    EXPECT_TRUE(test::all_zero(p, n)) << n;
    memset(p, 1, n);
  }
  EXPECT_GE(hooks.live.size(), 2u);
  arenas::destroy(*arena);
  EXPECT_TRUE(hooks.live.empty());
}

TEST(HookSources, ARefusalIsOutOfMemory) {
  Hooks hooks;
  hooks.refuse_from = 3;
  ManualArena* arena = hooks.make();
  const auto blocks = fill_up(arena, 200000, 10000);
  EXPECT_LT(blocks.size(), 10000u);
  EXPECT_GT(blocks.size(), 10u);
  expect_contents(blocks, 200000);
  EXPECT_EQ(allocate(arena, 100 * kMiB), nullptr);
  arenas::destroy(*arena);
  EXPECT_TRUE(hooks.live.empty());
}

TEST(HookSources, WhatIsNotTakenBackIsUsedAgain) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  hooks.declines = 1;
  acre_free(allocate(arena, 100 * kMiB));
  EXPECT_EQ(hooks.live.size(), 1u);
  const auto blocks = fill_up(arena, 10 * kMiB, 9);
  EXPECT_EQ(hooks.live.size(), 1u);
  expect_contents(blocks, 10 * kMiB);
  hooks.declines = 100;
  arenas::destroy(*arena);
  EXPECT_EQ(hooks.destroyed, 1u);
  EXPECT_TRUE(hooks.live.empty());
}

TEST(HookSources, WhatIsDirtyFromTheStartCountsAsHeld) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  acre_free(allocate(arena, 100 * kMiB));  // headers
  const size_t before = limit::held();
  constexpr size_t kSlack = 64 << 10;  // headers
  acre_free(allocate(arena, 5 * kMiB));
  size_t chunks = 0;
  for (const auto& [start, bytes] : hooks.live) chunks += bytes;
  EXPECT_GE(limit::held(), before + chunks);
  EXPECT_LE(limit::held(), before + chunks + kSlack);
  const size_t with_chunks = limit::held();
  ssize_t hard = static_cast<ssize_t>(with_chunks + kMiB);
  EXPECT_EQ(acre_mallctl("opt.hard_limit", nullptr, nullptr, &hard, sizeof hard), 0);
  EXPECT_NE(allocate(arena, 5 * kMiB), nullptr);
  EXPECT_EQ(allocate(arena, 5 * kMiB), nullptr);
  EXPECT_LE(limit::held(), with_chunks + kMiB);
  hard = 0;
  EXPECT_EQ(acre_mallctl("opt.hard_limit", nullptr, nullptr, &hard, sizeof hard), 0);
  const size_t purged = limit::held();  // before the refusal
  hooks.declines = 1;
  acre_free(allocate(arena, 100 * kMiB));
  EXPECT_GE(limit::held(), purged + 100 * kMiB) << "it stays with the arena, and is dirty";
  arenas::destroy(*arena);
  EXPECT_TRUE(hooks.live.empty());
  EXPECT_LE(limit::held(), before + kSlack);
}

// So many bytes of mapped memory, half of them on either side of a multiple of 4 GiB.
void* map_across_run_reach(size_t bytes) {
  const size_t room = window::kRunReach + 2 * bytes;
  void* all = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  EXPECT_NE(all, MAP_FAILED);
  void* p = pointer_to(align_up(address_of(all) + bytes, window::kRunReach) - bytes / 2);
  munmap(all, room);
  return mmap(p, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
}

TEST(HookSources, WhatIsNotTakenBackIsOneAgainWhereverItLies) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  acre_free(allocate(arena, 10));
  void* whole = hooks.next = map_across_run_reach(100 * kMiB);
  void* p = allocate(arena, 100 * kMiB);
  EXPECT_EQ(p, whole);
  hooks.declines = 1;
  acre_free(p);
  const size_t mappings = hooks.live.size();
  const auto blocks = fill_up(arena, 10 * kMiB, 9);
  EXPECT_EQ(hooks.live.size(), mappings) << "used again";
  expect_contents(blocks, 10 * kMiB);
  arenas::reset(*arena);
  arenas::destroy(*arena);
  EXPECT_TRUE(hooks.live.empty());
}

TEST(HookSources, HugeBlocksOutliveAChangeToTheDefaultOnes) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  void* p = allocate(arena, 100 * kMiB);
  arenas::set_hooks(*arena, default_hooks());
  acre_free(p);
  hooks.live.clear();
  EXPECT_EQ(g_page_map.find(p), nullptr);
  arenas::destroy(*arena);
}

TEST(HookSources, PurgesAreTheirs) {
  Hooks hooks;
  ManualArena* arena = hooks.make();
  acre_free(allocate(arena, 5 * kMiB));
  EXPECT_GT(arena->arena.pages.purge_to(0), 0u);
  EXPECT_GT(hooks.forced, 0u);
  EXPECT_TRUE(test::all_zero(allocate(arena, 5 * kMiB, true), 5 * kMiB));
  hooks.purge_forced = nullptr;
  arenas::reset(*arena);
  EXPECT_EQ(arena->arena.pages.purge_to(0), 0u);
  arenas::destroy(*arena);
  hooks.dalloc = nullptr;
  arena = hooks.make();
  acre_free(allocate(arena, 5 * kMiB));
  arenas::destroy(*arena);
  EXPECT_GT(hooks.destroyed, 0u);
}

TEST(HookSources, TheDefaultOnesWork) {
  extent_hooks_t* hooks = default_hooks();
  bool zero = false, commit = false;
  auto* p = static_cast<char*>(hooks->alloc(hooks, nullptr, 4 * kMiB, 4 * kMiB, &zero, &commit, 0));
  ASSERT_NE(p, nullptr);
  EXPECT_TRUE(zero && commit && is_aligned(address_of(p), 4 * kMiB));
  memset(p, 1, 4 * kMiB);
  EXPECT_FALSE(hooks->purge_forced(hooks, p, 4 * kMiB, kMiB, kMiB, 0));
  EXPECT_EQ(p[0], 1);
  EXPECT_TRUE(test::all_zero(p + kMiB, kMiB));
  EXPECT_FALSE(hooks->dalloc(hooks, p, 4 * kMiB, true, 0));
}

// --- The data segment --------------------------------------------------------------------------------------------

struct WithoutMappings {
  WithoutMappings() { set(0); }
  ~WithoutMappings() { set(1); }
  static void set(int64_t on) { set_option(index_of(Option::mmap), on, OptionSource::kRunTime); }
};

TEST(DataSegment, ServesWhereMappingsAreSwitchedOff) {
  PageHeap& heap = test::new_page_heap();
  char* before = static_cast<char*>(sbrk(0));
  WithoutMappings without;
  PageRun* run = heap.allocate(1000, 1);
  ASSERT_NE(run, nullptr);
  EXPECT_GE(run->base, address_of(before));
  EXPECT_LT(run->base, address_of(sbrk(0)));
  EXPECT_TRUE(test::all_zero(pointer_to(run->base), run->bytes()));
  memset(pointer_to(run->base), 1, run->bytes());
  heap.free(run, true);
  EXPECT_NE(heap.allocate(100 * kMiB / kPageBytes, 1), nullptr);
  void* large = acre_malloc(300 * kMiB);
  ASSERT_NE(large, nullptr) << "what would be a mapping of its own";
  memset(large, 1, kMiB);
  large = acre_realloc(large, 400 * kMiB);
  EXPECT_EQ(*static_cast<char*>(large), 1);
  acre_free(large);
  set_option(index_of(Option::sbrk), 0, OptionSource::kRunTime);
  EXPECT_EQ(acre_malloc(3000 * kMiB), nullptr);
  EXPECT_EQ(heap.allocate(900 * kMiB / kPageBytes, 1), nullptr);
  set_option(index_of(Option::sbrk), 1, OptionSource::kRunTime);
}

// A purge hook may allocate from other arenas, and a tick may call it while malloc has an empty private list.
std::vector<void*> g_allocated_by_hook;

bool purge_and_allocate(extent_hooks_t*, void* p, size_t, size_t offset, size_t length, unsigned) {
  g_allocated_by_hook.push_back(acre_malloc(64));
  return !os::purge(static_cast<char*>(p) + offset, length);
}

TEST(HookSources, AHookMayAllocateInATick) {
  Hooks hooks;
  hooks.purge_lazy = nullptr;
  hooks.purge_forced = purge_and_allocate;
  ManualArena* arena = hooks.make();
  arena->arena.pages.set_dirty_decay_ms(1);
  acre_free(acre_malloc(64));
  empty_heap(*heap_if_any());
  const size_t used = arenas::at(0)->pages.counts().used;
  std::vector<void*> blocks;
  for (int round = 0; round < 20 && !testing::Test::HasFailure(); ++round) {
    memset(allocate(arena, 5 * kMiB), 1, 5 * kMiB);
    arenas::reset(*arena);
    const size_t before = g_allocated_by_hook.size();
    usleep(5000);
    while (g_allocated_by_hook.size() == before) {
      ASSERT_LT(blocks.size(), 10'000'000u) << "the hook is not called";
      blocks.push_back(acre_malloc(64));
      memset(blocks.back(), 7, 64);
    }
  }
  for (void* block : blocks) acre_free(block);
  for (void* block : g_allocated_by_hook) acre_free(block);
  empty_heap(*heap_if_any());
  EXPECT_EQ(arenas::at(0)->pages.counts().used, used) << "blocks were lost";
  arenas::destroy(*arena);
}

}  // namespace
}  // namespace acre
