// control/ctl: arenas as jemalloc's programs use them: a thread bound to a manual arena, names in the caller's buffer, all
// arenas together, the sizes of large blocks.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "acre/tags.h"
#include "cache/lookup.h"
#include "cache/registry.h"
#include "ctl_calls.h"
#include "manual/manual_arena.h"
#include "support.h"

namespace acre {
namespace {

using test::act;
using test::get;
using test::in_thread;  // each: it is not bound afterwards
using test::set;
using test::value_of;

using CtlArenas = test::CtlTest;

// The number of the arena that a block is of; UINT_MAX: none.
unsigned arena_of(void* block) {
  unsigned arena = UINT_MAX;
  size_t size = sizeof arena;
  ctl::by_name("arenas.lookup", &arena, &size, &block, sizeof block);
  return arena;
}

std::string node_of(unsigned arena, const char* name) { return "arena." + std::to_string(arena) + "." + name; }

constexpr size_t kSizesOfArenas[] = {0, 1, 48, 100, 1500, 4096, 4097, 20000, 32768, 32769, 300000, size_t{5} << 20};

// --- thread.arena -----------------------------------------------------------------------------------------------

TEST_F(CtlArenas, AThreadBoundToAManualArenaAllocatesThere) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    const unsigned before = value_of<unsigned>("thread.arena");
    acre_free(acre_malloc(48));  // the thread has a list of these
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), manual);
    std::vector<void*> blocks;
    for (size_t size : kSizesOfArenas) {
      for (int i = 0; i < 3; ++i) blocks.push_back(acre_malloc(size));
      blocks.push_back(acre_calloc(1, size));
      EXPECT_TRUE(test::all_zero(blocks.back(), size));
      blocks.push_back(acre_aligned_alloc(256, size));
      EXPECT_TRUE(is_aligned(address_of(blocks.back()), 256));
      blocks.push_back(acre_mallocx(size + 1, MALLOCX_ZERO));
      EXPECT_TRUE(test::all_zero(blocks.back(), size + 1));
    }
    for (void* block : blocks) {
      EXPECT_EQ(arena_of(block), manual) << acre_malloc_usable_size(block);
      acre_free(block);
    }
    ASSERT_EQ(set<unsigned>("thread.arena", before), 0);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), before);
    for (size_t size : kSizesOfArenas) {
      void* block = acre_malloc(size);
      EXPECT_NE(arena_of(block), manual) << size;
      acre_free(block);
    }
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

// Above 64 MiB a block has no number of an arena; it is the arena's all the same, and goes with it.
TEST_F(CtlArenas, AHugeBlockOfABoundThreadGoesWithTheArena) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    void* block = acre_malloc(size_t{70} << 20);
    EXPECT_EQ(acre_owns(block), 1);
    EXPECT_EQ(act(node_of(manual, "reset")), 0);
    EXPECT_EQ(acre_owns(block), 0);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, ReallocKeepsABlockInItsArena) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    void* other = acre_malloc(100);
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    void* block = acre_malloc(100);
    ASSERT_EQ(set<unsigned>("thread.arena", 0), 0);
    block = acre_realloc(block, 5000);
    EXPECT_EQ(arena_of(block), manual) << "where it was";
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    other = acre_realloc(other, 5000);
    EXPECT_EQ(arena_of(other), manual) << "where the thread allocates now";
    acre_free(block);
    acre_free(other);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, OtherThreadsAreNotBound) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    in_thread([manual] {
      void* block = acre_malloc(100);
      EXPECT_NE(arena_of(block), manual);
      acre_free(block);
    });
  });
  in_thread([manual] {  // with the heap of the one that was bound, perhaps
    for (size_t size : kSizesOfArenas) {
      void* block = acre_malloc(size);
      EXPECT_NE(arena_of(block), manual);
      acre_free(block);
    }
    EXPECT_NE(value_of<unsigned>("thread.arena"), manual);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, AfterAResetABoundThreadGoesOnInTheArena) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    for (int round = 0; round < 5; ++round) {
      std::vector<void*> blocks;
      for (int i = 0; i < 5000; ++i) {
        blocks.push_back(acre_malloc(static_cast<size_t>(i) % 700 + 1));
        memset(blocks.back(), i, static_cast<size_t>(i) % 700 + 1);
      }
      for (int i = 0; i < 5000; i += 3) acre_free(blocks[static_cast<size_t>(i)]);
      EXPECT_EQ(act(node_of(manual, "reset")), 0);
    }
    void* block = acre_malloc(100);
    EXPECT_EQ(arena_of(block), manual);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

// Whoever makes an arena next gets the destroyed one's place and its number.
TEST_F(CtlArenas, AThreadBoundToADestroyedArenaHasItsOwnAgain) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    const unsigned own = value_of<unsigned>("thread.arena");
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    acre_malloc(100);
    EXPECT_EQ(act(node_of(manual, "destroy")), 0);
    EXPECT_EQ(value_of<unsigned>("thread.arena"), own);
    EXPECT_EQ(set<unsigned>("thread.arena", manual), EFAULT);
    ASSERT_EQ(value_of<unsigned>("arenas.create"), manual);
    for (size_t size : kSizesOfArenas) {
      void* block = acre_malloc(size);
      EXPECT_NE(arena_of(block), manual) << size;
      acre_free(block);
    }
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, ATagInForceCountsMore) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    acre_tag_push("above the arena");
    void* tagged = acre_malloc(100);
    acre_tag_pop();
    void* block = acre_malloc(100);
    EXPECT_NE(arena_of(tagged), manual);
    EXPECT_EQ(arena_of(block), manual);
    acre_tag_push("above the arena");
    ASSERT_EQ(set<unsigned>("thread.arena", 0), 0);
    void* other = acre_malloc(100);
    acre_tag_pop();
    acre_free(tagged);
    acre_free(block);
    acre_free(other);
    block = acre_malloc(100);
    EXPECT_NE(arena_of(block), manual);
    acre_free(block);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, AThreadWithoutACacheIsBoundAllTheSame) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    ASSERT_EQ(set<bool>("thread.tcache.enabled", false), 0);
    for (size_t size : kSizesOfArenas) {
      void* block = acre_malloc(size);
      EXPECT_EQ(arena_of(block), manual) << size;
      acre_free(block);
    }
    EXPECT_EQ(value_of<unsigned>("thread.arena"), manual);
    ASSERT_EQ(set<bool>("thread.tcache.enabled", true), 0);
    void* block = acre_malloc(48);
    EXPECT_EQ(arena_of(block), manual);
    acre_free(block);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, AChildIsBoundAsItsParentWas) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    void* block = acre_malloc(100);
    const pid_t child = fork();
    if (child == 0) {
      acre_free(block);
      bool right = value_of<unsigned>("thread.arena") == manual;
      for (size_t size : kSizesOfArenas) right &= arena_of(acre_malloc(size)) == manual;
      _exit(right ? 0 : 1);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
    acre_free(block);
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, ABoundThreadCountsForTheManualArena) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  const std::string threads = "stats.arenas." + std::to_string(manual) + ".nthreads";
  in_thread([&] {
    acre_free(acre_malloc(100));  // the thread has a heap
    ASSERT_EQ(test::renew_figures(), 0);
    const unsigned all = value_of<unsigned>("stats.arenas.4096.nthreads");
    EXPECT_EQ(value_of<unsigned>(threads), 0u);
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    ASSERT_EQ(test::renew_figures(), 0);
    EXPECT_EQ(value_of<unsigned>(threads), 1u);
    EXPECT_EQ(value_of<unsigned>("stats.arenas.4096.nthreads"), all);
  });
  ASSERT_EQ(test::renew_figures(), 0);
  EXPECT_EQ(value_of<unsigned>(threads), 0u);
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, WhatABoundThreadAllocatesCounts) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  in_thread([manual] {
    ASSERT_EQ(set<unsigned>("thread.arena", manual), 0);
    for (size_t size : kSizesOfArenas) {
      const uint64_t before = value_of<uint64_t>("thread.allocated");
      void* block = acre_malloc(size);
      EXPECT_EQ(value_of<uint64_t>("thread.allocated") - before, acre_malloc_usable_size(block)) << size;
      acre_free(block);
    }
  });
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

// --- arena.#.name, arena.4096.initialized -------------------------------------------------------------------------

TEST_F(CtlArenas, ANameGoesIntoTheCallersBuffer) {
  const unsigned manual = value_of<unsigned>("arenas.create");
  const std::string name = node_of(manual, "name");
  ASSERT_EQ(set<const char*>(name, "requests"), 0);
  char buffer[32];
  memset(buffer, 'x', sizeof buffer);
  char* given = buffer;
  size_t size = sizeof given;
  ASSERT_EQ(ctl::by_name(name.c_str(), &given, &size, nullptr, 0), 0);
  EXPECT_EQ(given, buffer) << "still the caller's";
  EXPECT_STREQ(buffer, "requests");
  EXPECT_EQ(buffer[9], 'x') << "no more than the name is written";
  const char* longest = "a name that is longer than the thirty-one characters kept";
  ASSERT_EQ(ctl::by_name(name.c_str(), &given, &size, &longest, sizeof longest), 0);
  EXPECT_STREQ(buffer, "requests") << "the old one";
  ASSERT_EQ(ctl::by_name(name.c_str(), &given, &size, nullptr, 0), 0);
  EXPECT_EQ(strlen(buffer), 31u);
  EXPECT_STREQ(value_of<const char*>(name), buffer) << "without a buffer: where it stands";
  given = buffer;
  ASSERT_EQ(ctl::by_name("arena.0.name", &given, &size, nullptr, 0), 0);
  EXPECT_STREQ(buffer, "auto");
  size = 4;
  EXPECT_EQ(ctl::by_name(name.c_str(), &given, &size, nullptr, 0), EINVAL);
  EXPECT_EQ(act(node_of(manual, "destroy")), 0);
}

TEST_F(CtlArenas, AllArenasTogetherAreInitialized) {
  EXPECT_TRUE(value_of<bool>("arena.4096.initialized"));
}

// --- Sizes of large blocks ------------------------------------------------------------------------------------------

TEST_F(CtlArenas, TheLastSizeIsTheLargestThereCanBe) {
  const unsigned count = value_of<unsigned>("arenas.nlextents");
  size_t last = kSmallMax;
  for (unsigned i = 0; i < count; ++i) {
    const size_t size = value_of<size_t>("arenas.lextent." + std::to_string(i) + ".size");
    ASSERT_GT(size, last);
    ASSERT_EQ(acre_nallocx(size, 0), size);
    last = size;
  }
  EXPECT_EQ(acre_nallocx(last + 1, 0), 0u);
  EXPECT_EQ(acre_mallocx(last, 0), nullptr);
  EXPECT_EQ(acre_mallocx(last + 1, 0), nullptr);
}

TEST_F(CtlArenas, HugeBlocksAreCountedBySize) {
  const unsigned count = value_of<unsigned>("arenas.nlextents");
  unsigned at = 0;
  while (at + 1 < count && value_of<size_t>("arenas.lextent." + std::to_string(at) + ".size") < size_t{128} << 20) ++at;
  ASSERT_EQ(value_of<size_t>("arenas.lextent." + std::to_string(at) + ".size"), size_t{128} << 20);
  const std::string blocks = "stats.arenas.4096.lextents." + std::to_string(at) + ".curlextents";
  const size_t before = value_of<size_t>(blocks);
  void* block = acre_malloc(size_t{128} << 20);
  EXPECT_EQ(value_of<size_t>(blocks), before + 1);
  acre_free(block);
  EXPECT_EQ(value_of<size_t>(blocks), before);
}

// --- What acre has in another form ---------------------------------------------------------------------------------

TEST_F(CtlArenas, OptionsThatAreOthersOfAcres) {
  EXPECT_FALSE(value_of<bool>("opt.prof_leak"));
  EXPECT_STREQ(value_of<const char*>("opt.stats_print_opts"), "");
  ASSERT_TRUE(set_option(index_of(Option::leaks), static_cast<int64_t>(LeakMode::kNormal), OptionSource::kRunTime));
  ASSERT_TRUE(set_option(index_of(Option::stats_format), static_cast<int64_t>(StatsFormat::kJson), OptionSource::kRunTime));
  EXPECT_TRUE(value_of<bool>("opt.prof_leak"));
  EXPECT_STREQ(value_of<const char*>("opt.stats_print_opts"), "J");
}

}  // namespace
}  // namespace acre
