// manual/manual_life: how manual arenas come and go.
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <set>
#include <string>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "control/ctl.h"
#include "control/statistics.h"
#include "manual/manual_arena.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "support.h"

namespace acre {
namespace {

using arenas::allocate_in;

constexpr size_t kManyBlocks = 2000;
constexpr size_t kMostSpares = 16 + 16;  // while few other arenas live

std::vector<ManualArena*> make_many(size_t count = kManyBlocks) {
  std::vector<ManualArena*> made;
  for (size_t i = 0; i < count; ++i) {
    made.push_back(arenas::create({}));
    memset(allocate_in(*made.back(), 100, 1, false), 1, 100);
  }
  return made;
}

void destroy_all(const std::vector<ManualArena*>& all) {
  test::Random random(1);
  std::vector<ManualArena*> left = all;
  while (!left.empty()) {
    std::swap(left[random.below(left.size())], left.back());
    arenas::destroy(*left.back());
    left.pop_back();
  }
}

size_t count_manual() {
  size_t count = 0;
  for (const Arena* arena = arenas::first_manual(); arena != nullptr; arena = arena->next_manual) ++count;
  return count;
}

TEST(ManualLife, OfThoseThatWereDestroyedAFewAreKept) {
  const size_t before = count_manual();
  const auto all = make_many();
  EXPECT_GE(count_manual(), kManyBlocks);
  destroy_all(all);
  EXPECT_LE(count_manual(), before + kMostSpares);
}

TEST(ManualLife, WhatIsHeldGoesBack) {
  destroy_all(make_many());  // the first time takes headers and the like
  const size_t metadata = metadata::allocated_bytes(), held = limit::held();
  for (int round = 0; round < 3; ++round) {
    const auto all = make_many();
    EXPECT_GT(metadata::allocated_bytes(), metadata + kManyBlocks * kPageBytes);
    destroy_all(all);
    EXPECT_LE(metadata::allocated_bytes(), metadata + kManyBlocks * sizeof(PageRun));
    EXPECT_LE(limit::held(), held + kManyBlocks * sizeof(PageRun) + kMostSpares * kHugePageBytes / 4);
  }
}

// Blocks of all sizes, so that a heap has many chunks, runs and headers; and several heaps of its own.
TEST(ManualLife, LargeOnesGoBackToo) {
  acre_free(acre_malloc(1));  // makes the first automatic arena
  PageHeap& lender = arenas::at(0)->pages;
  size_t obtained = 0;
  for (int round = 0; round < 4; ++round) {
    std::vector<ManualArena*> all = make_many(100);
    for (ManualArena* arena : all) {
      for (size_t n = 1; n < 300000; n += n / 3 + 50) memset(allocate_in(*arena, n, 1, false), 1, n);
    }
    destroy_all(all);
    EXPECT_TRUE(test::pages_add_up(lender.counts()));
    const size_t now = lender.counts().obtained;
    if (round == 0) obtained = now;
    EXPECT_LE(now, obtained + kMostSpares * (size_t{8} << 20) / kPageBytes) << "the same addresses are used again";
  }
}

TEST(ManualLife, AStalePointerIsForeign) {
  const auto all = make_many();
  std::vector<void*> blocks;
  for (ManualArena* arena : all) blocks.push_back(allocate_in(*arena, 1000, 1, false));
  destroy_all(all);
  for (void* block : blocks) ASSERT_EQ(acre_owns(block), 0);
}

TEST(ManualLife, CountersCountOn) {
  const auto counters = [] {
    Report* report = make_report();
    std::vector<uint64_t> all;
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      const ClassStatistics& figures = report->all.classes[c];
      for (uint64_t counter : {figures.refills, figures.new_runs, figures.adoptions, figures.remote_frees}) {
        all.push_back(counter);
      }
      all.push_back(report->all.bin_locks[c].acquisitions);
    }
    all.push_back(report->all.pages_lock.acquisitions);
    all.push_back(report->all.arena.dirty_purged);
    all.push_back(report->process.purged);
    drop_report(report);
    return all;
  };
  const auto all = make_many();
  const auto before = counters();
  destroy_all(all);
  const auto after = counters();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_GE(after[i], before[i]) << i;
  EXPECT_GE(after.back(), before.back() + (kManyBlocks - kMostSpares) * kPageBytes) << "they purge their pages";
}

TEST(ManualLife, WhileOthersWalkNoneGoes) {
  const size_t before = count_manual();
  const auto all = make_many(200);
  {
    const arenas::Walk walk;
    destroy_all(all);
    EXPECT_GE(count_manual(), 200u);
    for (Arena* arena = arenas::first_manual(); arena != nullptr; arena = arena->next_manual) {
      EXPECT_TRUE(arena->is_manual);
    }
  }
  // A tick sees to it that the others go.
  for (int i = 0; i < 1000 && arenas::has_surplus(); ++i) acre_free(acre_malloc(40000));
  EXPECT_LE(count_manual(), before + kMostSpares);
}

unsigned count_used_bins(ManualArena& arena) {
  unsigned used = 0;
  arena.arena.for_each_used_bin([&](Bin&) { ++used; });
  return used;
}

TEST(ManualLife, AForkLocksTheBinsThatRunsWereIn) {
  for (ManualArena* spare : make_many(100)) arenas::destroy(*spare);  // so that some of the following are new
  const auto all = make_many(100);
  EXPECT_EQ(count_used_bins(*all.back()), 0u) << "its run is a heap's";
  const SizeClass c = class_of_size(100);
  std::vector<void*> blocks;
  for (int i = 0; i < 2000; ++i) blocks.push_back(allocate_in(*all.back(), 100, 1, false));
  for (void* block : blocks) acre_free(block);
  EXPECT_TRUE(all.back()->arena.uses_bin(c));
  EXPECT_EQ(count_used_bins(*all.back()), 1u);
  const pid_t child = fork();
  if (child == 0) {
    for (ManualArena* arena : all) {
      for (size_t n = 1; n < 40000; n += n / 4 + 8) {
        void* block = allocate_in(*arena, n, 1, false);
        if (block == nullptr) _exit(1);
        acre_free(block);
      }
      arenas::destroy(*arena);
    }
    destroy_all(make_many(100));
    _exit(0);
  }
  int status = 1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  destroy_all(all);
}

// --- Destroyed twice at the same time -----------------------------------------------------------------------------

// LifeHooks in which a second thread, or a handler, might come.
struct LifeHooks : extent_hooks_t {
  std::string name;
  int error = -1;

  LifeHooks() : extent_hooks_t{} {
    alloc = [](extent_hooks_t*, void*, size_t size, size_t alignment, bool* zero, bool* commit, unsigned) {
      *zero = *commit = true;
      return pointer_to(map_anonymous(size, alignment));
    };
    dalloc = [](extent_hooks_t* self, void*, size_t, bool, unsigned) {
      auto* hooks = static_cast<LifeHooks*>(self);
      if (hooks->error == -1) hooks->error = acre_mallctl(hooks->name.c_str(), nullptr, nullptr, nullptr, 0);
      return false;
    };
  }
};

// Later ones are made of it once.
void expect_one(const char* second) {
  LifeHooks hooks;
  extent_hooks_t* pointer = &hooks;
  unsigned number = 0;
  size_t size = sizeof number;
  ASSERT_EQ(acre_mallctl("arenas.create", &number, &size, &pointer, sizeof pointer), 0);
  const std::string arena = "arena." + std::to_string(number) + ".";
  hooks.name = arena + second;
  ASSERT_NE(acre_mallocx(100, MALLOCX_ARENA(number)), nullptr);
  EXPECT_EQ(acre_mallctl((arena + "destroy").c_str(), nullptr, nullptr, nullptr, 0), 0);
  EXPECT_EQ(hooks.error, EFAULT) << "it is no arena any more that can be destroyed or reset";
  EXPECT_EQ(acre_mallctl((arena + "destroy").c_str(), nullptr, nullptr, nullptr, 0), EFAULT);
  const auto all = make_many(40);
  EXPECT_EQ(std::set<ManualArena*>(all.begin(), all.end()).size(), all.size());
  destroy_all(all);
}

TEST(ManualLife, ByNumberTheSecondToDestroyIsRefused) { expect_one("destroy"); }
TEST(ManualLife, ByNumberWhoResetsWhatIsBeingDestroyedIsRefused) { expect_one("reset"); }

TEST(ManualLifeDeath, TheSecondToDestroyEndsTheProgram) {
  ManualArena* arena = arenas::create({});
  arena->state.store(ManualArena::State::kChanging);  // as another thread that is at it
  EXPECT_DEATH(arenas::destroy(*arena), "while another thread does");
  EXPECT_DEATH(arenas::reset(*arena), "while another thread does");
  arena->state.store(ManualArena::State::kLive);
  arenas::destroy(*arena);
  EXPECT_DEATH(arenas::reset(*arena), "destroyed again");
}

// --- Loans ----------------------------------------------------------------------------------------------------------

TEST(Loans, ArenasBorrowFewPagesAndGiveThemBack) {
  PageHeap& lender = test::new_page_heap();
  PageHeap& borrower = test::new_page_heap();
  borrower.keep_chunks(&lender);
  PageRun* first = borrower.allocate(8, 8);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(borrower.counts().obtained, 8u);
  EXPECT_TRUE(is_aligned(first->base, kRunUnitPages * kPageBytes));
  std::vector<PageRun*> runs{first};
  for (size_t pages : {1, 7, 30, 500, 1000, 3000}) {
    runs.push_back(borrower.allocate(pages, 1));
    memset(pointer_to(runs.back()->base), 1, runs.back()->bytes());
  }
  EXPECT_TRUE(test::pages_add_up(lender.counts()));
  EXPECT_TRUE(test::pages_add_up(borrower.counts()));
  const size_t obtained = borrower.counts().obtained + lender.counts().obtained;
  for (PageRun* run : runs) borrower.free(run, true);
  const size_t dirty = borrower.dirty_pages();
  EXPECT_GT(dirty, 4000u);
  borrower.release_chunks();
  EXPECT_EQ(borrower.counts().obtained, 0u);
  EXPECT_EQ(lender.counts().obtained, obtained);
  EXPECT_EQ(lender.dirty_pages(), dirty);
  EXPECT_TRUE(test::pages_add_up(lender.counts()));
  lender.purge_to(0);
  EXPECT_EQ(lender.counts().clean, obtained);
  PageRun* whole = lender.allocate(obtained / 2, 1);
  EXPECT_TRUE(test::all_zero(pointer_to(whole->base), whole->bytes()));
  borrower.give_back_headers();
}

TEST(Loans, ARefusalLosesNothing) {
  PageHeap& lender = test::new_page_heap();
  PageHeap& borrower = test::new_page_heap();
  borrower.keep_chunks(&lender);
  for (long allowed = 0; allowed < 6; ++allowed) {
    os::testing::refuse_requests(allowed, 1000);
    PageRun* run = borrower.allocate(5000, 512);
    os::testing::refuse_nothing();
    EXPECT_TRUE(test::pages_add_up(lender.counts()));
    EXPECT_TRUE(test::pages_add_up(borrower.counts()));
    if (run != nullptr) borrower.free(run, false);
  }
  EXPECT_NE(borrower.allocate(5000, 512), nullptr);
}

}  // namespace
}  // namespace acre
