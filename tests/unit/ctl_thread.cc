// control/ctl: what it says of the calling thread and does for it (thread.*, tcache.*), and of a block (arenas.lookup).
#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/registry.h"
#include "cache/thread_bytes.h"
#include "control/this_thread.h"
#include "ctl_calls.h"
#include "sample/profile.h"
#include "support.h"

namespace acre {
namespace {

using test::act;
using test::get;
using test::in_thread;  // each: no other test's blocks are in its heap
using test::renew_figures;
using test::set;
using test::value_of;

struct Bytes {
  uint64_t allocated, freed;
  bool operator==(const Bytes&) const = default;
};
Bytes now() { return {value_of<uint64_t>("thread.allocated"), value_of<uint64_t>("thread.deallocated")}; }

// --- thread.allocated and thread.deallocated ------------------------------------------------------------------------

TEST(ThreadBytes, AreExactForEverySize) {
  in_thread([] {
    for (size_t size : {1, 8, 48, 100, 1000, 1500, 4096, 20000, 32768, 32769, 100000, 1 << 20, 70 << 20}) {
      const size_t bytes = acre_nallocx(size, 0);
      for (unsigned count : {1u, 2u, 7u, 300u}) {
        if (size > 100000 && count > 7) continue;
        std::vector<void*> blocks(count);
        const Bytes start = now();
        for (void*& block : blocks) block = acre_malloc(size);
        EXPECT_EQ(now(), (Bytes{start.allocated + count * bytes, start.freed})) << size << " " << count;
        for (void* block : blocks) acre_free(block);
        EXPECT_EQ(now(), (Bytes{start.allocated + count * bytes, start.freed + count * bytes})) << size << " " << count;
      }
    }
  });
}

// Sampled blocks come from runs that no thread owns, and count for it all the same: all of them, and some.
TEST(ThreadBytes, SampledBlocksCountAsOthers) {
  ASSERT_TRUE(profile::prepare(0));
  for (uint64_t mean : {0, 4096}) {
    profile::reset(mean);
    profile::set_active(true);
    in_thread([mean] {
      for (size_t size : {1, 48, 1000, 4096, 32768, 32769, 1 << 20, 70 << 20}) {
        const size_t bytes = acre_nallocx(size, 0);
        const unsigned count = size > 100000 ? 3 : 300;
        std::vector<void*> blocks(count);
        const uint64_t sampled = profile::totals().allocated.blocks;
        const Bytes start = now();
        for (void*& block : blocks) block = acre_malloc(size);
        EXPECT_EQ(now(), (Bytes{start.allocated + count * bytes, start.freed})) << size << " " << mean;
        EXPECT_GE(profile::totals().allocated.blocks, sampled + (mean == 0 ? count : 0)) << size;
        for (unsigned i = 0; i < count / 2; ++i) acre_free(blocks[i]);
        if (mean == 0) profile::set_active(false);  // what was sampled stays so
        for (unsigned i = count / 2; i < count; ++i) acre_free(blocks[i]);
        profile::set_active(true);
        EXPECT_EQ(now(), (Bytes{start.allocated + count * bytes, start.freed + count * bytes})) << size << " " << mean;
      }
      void* block = acre_malloc(100);
      const Bytes start = now();
      block = acre_realloc(block, 5000);
      EXPECT_EQ(now(), (Bytes{start.allocated + acre_nallocx(5000, 0), start.freed + acre_nallocx(100, 0)})) << mean;
      acre_free(block);
    });
    profile::set_active(false);
  }
  profile::reset(0);
}

// Whatever the slow path does in between: runs change hands, are given up, shared and taken back.
TEST(ThreadBytes, AreExactOverALongTime) {
  in_thread([] {
    test::Random random(9);
    struct Held {
      void* block;
      size_t bytes;
    };
    std::vector<Held> held;
    const Bytes start = now();
    Bytes known{0, 0};
    for (int step = 0; step < 300000; ++step) {
      const bool grows = (step / 20000) % 2 == 0;
      if (held.empty() || random.one_in(grows ? 2 : 1) != random.one_in(3)) {
        const size_t size = random.one_in(50) ? random.between(1, 200000) : random.between(1, random.one_in(5) ? 9000 : 300);
        held.push_back({acre_malloc(size), acre_nallocx(size, 0)});
        known.allocated += held.back().bytes;
      }
      if (!held.empty() && random.below(100) < (grows ? 40 : 60)) {
        const size_t at = random.below(held.size());
        acre_free(held[at].block);
        known.freed += held[at].bytes;
        held[at] = held.back();
        held.pop_back();
      }
      if (random.one_in(3000)) act("thread.tcache.flush");
      if (random.one_in(2000)) {
        ASSERT_EQ(now(), (Bytes{start.allocated + known.allocated, start.freed + known.freed})) << step;
      }
    }
    for (const Held& one : held) acre_free(one.block), known.freed += one.bytes;
    EXPECT_EQ(now(), (Bytes{start.allocated + known.allocated, start.freed + known.freed}));
  });
}

TEST(ThreadBytes, OtherThreadsBlocksCountForWhoFreesThem) {
  std::vector<void*> blocks;
  size_t bytes = 0;
  in_thread([&] {
    for (int i = 0; i < 5000; ++i) {
      blocks.push_back(acre_malloc(static_cast<size_t>(i % 2000 + 1)));
      bytes += acre_malloc_usable_size(blocks.back());
    }
    blocks.push_back(acre_malloc(200000));
    bytes += acre_malloc_usable_size(blocks.back());
    EXPECT_EQ(now().allocated, bytes);
    EXPECT_EQ(now().freed, 0u);
  });
  in_thread([&] {
    for (void* block : blocks) acre_free(block);
    EXPECT_EQ(now(), (Bytes{0, bytes}));
  });
}

// The runs of a thread that ended come to others with free blocks in them, which these have not freed.
TEST(ThreadBytes, RunsThatChangeHands) {
  std::vector<void*> kept;
  for (int round = 0; round < 30; ++round) {
    in_thread([&] {
      std::vector<void*> blocks;
      const Bytes start = now();
      size_t allocated = 0, freed = 0;
      for (int i = 0; i < 3000; ++i) {
        blocks.push_back(acre_malloc(200));
        allocated += 208;
      }
      for (size_t i = 0; i < blocks.size(); ++i) {
        if (i % 7 == 0) {
          kept.push_back(blocks[i]);
        } else {
          acre_free(blocks[i]);
          freed += 208;
        }
      }
      EXPECT_EQ(now(), (Bytes{start.allocated + allocated, start.freed + freed}));
    });
  }
  for (void* block : kept) acre_free(block);
}

TEST(ThreadBytes, ResizedBlocks) {
  in_thread([] {
    void* block = acre_malloc(100000);
    const Bytes start = now();
    block = acre_realloc(block, 50000);
    EXPECT_EQ(now(), (Bytes{start.allocated + acre_nallocx(50000, 0), start.freed + acre_nallocx(100000, 0)}));
    const size_t grown = acre_xallocx(block, 60000, 0, 0);
    const Bytes then{start.allocated + acre_nallocx(50000, 0) + grown,
                     start.freed + acre_nallocx(100000, 0) + acre_nallocx(50000, 0)};
    EXPECT_EQ(now(), then);
    block = acre_realloc(block, grown);
    EXPECT_EQ(now(), then) << "nothing has changed";
    acre_free(block);
    const Bytes before = now();
    block = acre_mallocx(500, MALLOCX_ARENA(0));
    EXPECT_EQ(now().allocated, before.allocated + 512);
    acre_dallocx(block, 0);
    EXPECT_EQ(now().freed, before.freed + 512);
  });
}

TEST(ThreadBytes, PointersFollowOnTicks) {
  in_thread([] {
    const auto* allocated = value_of<const uint64_t*>("thread.allocatedp");
    const auto* freed = value_of<const uint64_t*>("thread.deallocatedp");
    EXPECT_EQ((Bytes{*allocated, *freed}), now());
    EXPECT_EQ(value_of<const uint64_t*>("thread.allocatedp"), allocated);
    const uint64_t before = *allocated;
    void* block = acre_malloc(1 << 20);
    EXPECT_EQ(*allocated, before + (1 << 20)) << "large blocks at once";
    acre_free(block);
    uint64_t last = *allocated;
    for (int i = 0; i < 100000; ++i) {
      acre_free(acre_malloc(4000));
      void* volatile one = acre_malloc(100);
      (void)one;
      EXPECT_GE(*allocated, last);
      last = *allocated;
    }
    EXPECT_GE(*allocated, before + (1 << 20) + 90000 * (4096 + 112)) << "not looked at for long";
    EXPECT_LE(*allocated, before + (1 << 20) + 100000 * (4096 + 112));
    now();
    EXPECT_EQ(*allocated, before + (1 << 20) + 100000 * (4096 + 112)) << "a question brings it up to date";
  });
}

TEST(ThreadBytes, Peak) {
  in_thread([] {
    EXPECT_EQ(act("thread.peak.reset"), 0);
    EXPECT_EQ(value_of<uint64_t>("thread.peak.read"), 0u);
    void* block = acre_malloc(10 << 20);
    acre_free(block);
    EXPECT_EQ(value_of<uint64_t>("thread.peak.read"), 10u << 20);
    std::vector<void*> blocks(20000);
    for (void*& small : blocks) small = acre_malloc(1000);
    for (void* small : blocks) acre_free(small);
    const auto peak = value_of<uint64_t>("thread.peak.read");
    EXPECT_LE(peak, 20000u * 1024);
    EXPECT_GE(peak, 20000u * 1024 * 9 / 10) << "seen on ticks";
    EXPECT_EQ(act("thread.peak.reset"), 0);
    EXPECT_EQ(value_of<uint64_t>("thread.peak.read"), 0u);
  });
}

// --- thread.arena -------------------------------------------------------------------------------------------------

TEST(ThreadArena, CanBeChosen) {
  in_thread([] {
    const unsigned own = value_of<unsigned>("thread.arena");
    const unsigned other = (own + 1) % arenas::most();
    unsigned old = 1000;
    unsigned wanted = other;
    size_t size = sizeof old;
    EXPECT_EQ(ctl::by_name("thread.arena", &old, &size, &wanted, sizeof wanted), 0);
    EXPECT_EQ(old, own);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), other);
    EXPECT_TRUE(value_of<bool>("arena." + std::to_string(other) + ".initialized"));
    EXPECT_EQ(heap_if_any()->arena, arenas::at(other));
    EXPECT_EQ(heap_if_any()->kept_pages, 0u);
    EXPECT_EQ(set<unsigned>("thread.arena", arenas::most()), EFAULT);
    EXPECT_EQ(set<unsigned>("thread.arena", ~0u), EFAULT);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), other);
    for (unsigned i = 0; i < smaller(arenas::most(), 5u); ++i) EXPECT_EQ(set<unsigned>("thread.arena", i), 0);
    acre_free(acre_malloc(100));
  });
  unsigned threads = 0;
  renew_figures();
  for (unsigned i = 0; i < arenas::count(); ++i) threads += arenas::at(i)->threads;
  EXPECT_LE(threads, registry::live_heaps());
}

TEST(ThreadArena, IsThatOfNewBlocks) {
  if (arenas::most() < 2) GTEST_SKIP() << "one arena";
  act("arena.4096.purge");  // nothing that would be taken first
  in_thread([] {
    for (unsigned i : {1u, 0u, 1u}) {
      ASSERT_EQ(set<unsigned>("thread.arena", i), 0);
      void* block = acre_malloc(33000);
      unsigned arena = 77;
      size_t size = sizeof arena;
      EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &size, &block, sizeof block), 0);
      EXPECT_EQ(arena, i);
      acre_free(block);
      act("arena.4096.purge");
    }
  });
}

// --- thread.tcache.*, thread.idle ---------------------------------------------------------------------------------

TEST(ThreadCache, CanBeTurnedOff) {
  in_thread([] {
    EXPECT_TRUE(value_of<bool>("thread.tcache.enabled"));
    std::vector<void*> blocks;
    for (int i = 0; i < 1000; ++i) blocks.push_back(acre_malloc(100));
    const Bytes before = now();
    Heap* heap = heap_if_any();
    EXPECT_EQ(set<bool>("thread.tcache.enabled", false), 0);
    EXPECT_FALSE(value_of<bool>("thread.tcache.enabled"));
    EXPECT_EQ(heap_if_any(), nullptr);
    EXPECT_EQ(heap->kept_pages, 0u);
    for (void*& block : blocks) {
      acre_free(block);
      block = acre_malloc(200);
    }
    void* large = acre_malloc(100000);
    acre_free(large);
    EXPECT_EQ(now(), before) << "nothing is counted";
    EXPECT_EQ(set<bool>("thread.tcache.enabled", false), 0);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), heap->arena->index);
    EXPECT_EQ(set<bool>("thread.tcache.enabled", true), 0);
    EXPECT_TRUE(value_of<bool>("thread.tcache.enabled"));
    EXPECT_EQ(heap_if_any(), heap);
    for (void* block : blocks) acre_free(block);
    EXPECT_EQ(set<bool>("thread.tcache.enabled", false), 0);
    // The thread ends so.
  });
}

TEST(ThreadCache, IdleGivesEverythingUp) {
  in_thread([] {
    acre_free(acre_malloc(100));
    std::vector<void*> blocks(10000);
    for (void*& block : blocks) block = acre_malloc(100);
    for (void* block : blocks) acre_free(block);
    EXPECT_NE(heap_if_any()->kept_pages, 0u);
    EXPECT_EQ(act("thread.idle"), 0);
    EXPECT_EQ(heap_if_any()->kept_pages, 0u);
  });
}

// --- tcache.* -----------------------------------------------------------------------------------------------------

TEST(ManualCaches, AreMadeUsedAndDestroyed) {
  const auto first = value_of<unsigned>("tcache.create");
  const auto second = value_of<unsigned>("tcache.create");
  EXPECT_NE(first, second);
  void* block = acre_mallocx(100, MALLOCX_TCACHE(first));
  EXPECT_NE(block, nullptr);
  acre_dallocx(block, MALLOCX_TCACHE(second));
  EXPECT_EQ(set<unsigned>("tcache.flush", first), 0);
  EXPECT_EQ(set<unsigned>("tcache.destroy", first), 0);
  EXPECT_EQ(set<unsigned>("tcache.flush", first), EFAULT);
  EXPECT_EQ(set<unsigned>("tcache.destroy", first), EFAULT);
  EXPECT_EQ(value_of<unsigned>("tcache.create"), first) << "it is free again";
  EXPECT_EQ(set<unsigned>("tcache.destroy", first), 0);
  EXPECT_EQ(set<unsigned>("tcache.destroy", second), 0);
  EXPECT_EQ(set<unsigned>("tcache.flush", ~0u), EFAULT);
}

TEST(ManualCaches, WrongQuestions) {
  unsigned cache = 77;
  size_t size = sizeof cache - 1;
  EXPECT_EQ(ctl::by_name("tcache.create", &cache, &size, nullptr, 0), EINVAL);
  EXPECT_EQ(size, 0u);
  EXPECT_EQ(cache, 77u);
  EXPECT_EQ(act("tcache.create"), EINVAL);
  EXPECT_EQ(set<unsigned>("tcache.create", 1), EPERM);
  size = sizeof cache;
  EXPECT_EQ(ctl::by_name("tcache.flush", &cache, &size, &cache, sizeof cache), EPERM) << "it is not read";
  EXPECT_EQ(act("tcache.flush"), EINVAL);
  EXPECT_EQ(set<uint64_t>("tcache.destroy", 0), EINVAL) << "not an unsigned";
}

TEST(ManualCaches, ThereIsAMost) {
  std::vector<unsigned> all;
  unsigned cache;
  while (get("tcache.create", &cache) == 0) all.push_back(cache);
  EXPECT_EQ(get("tcache.create", &cache), EAGAIN);
  EXPECT_EQ(all.size(), ctl::caches::kMost);
  for (unsigned one : all) EXPECT_EQ(set<unsigned>("tcache.destroy", one), 0);
}

// --- arenas.lookup --------------------------------------------------------------------------------------------------

TEST(ArenaOfABlock, IsFoundByItsAddress) {
  for (size_t size : {8, 1000, 32768, 100000, 1 << 20}) {
    const unsigned last = smaller(arenas::most(), 3u) - 1;
    void* block = acre_mallocx(size, MALLOCX_ARENA(last));
    unsigned arena = 77;
    size_t bytes = sizeof arena;
    EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &bytes, &block, sizeof block), 0);
    EXPECT_EQ(arena, last);
    bytes = sizeof arena + 1;
    EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &bytes, &block, sizeof block), EINVAL);
    EXPECT_EQ(bytes, 0u);
    bytes = sizeof arena;
    EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &bytes, &block, 4), EINVAL);
    EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &bytes, nullptr, 0), EINVAL);
    acre_dallocx(block, 0);
  }
  void* huge = acre_malloc(size_t{70} << 20);
  void* foreign = &huge;
  for (void* block : {huge, foreign, static_cast<void*>(nullptr)}) {
    unsigned arena = 77;
    size_t bytes = sizeof arena;
    EXPECT_EQ(ctl::by_name("arenas.lookup", &arena, &bytes, &block, sizeof block), EINVAL);
    EXPECT_EQ(arena, 77u);
  }
  acre_free(huge);
}

TEST(Dss, IsSettledAtTheStart) {
  acre_free(acre_malloc(1));  // so that there is an arena
  for (const char* name : {"arena.0.dss", "stats.arenas.0.dss", "opt.dss"}) {
    EXPECT_STREQ(value_of<const char*>(name), "secondary");
  }
  EXPECT_EQ(set<const char*>("arena.0.dss", "secondary"), 0);
  EXPECT_EQ(set<const char*>("arena.0.dss", "primary"), EFAULT);
  EXPECT_EQ(set<const char*>("arena.0.dss", nullptr), EINVAL);
}

}  // namespace
}  // namespace acre
