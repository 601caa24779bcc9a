// slab/purge, reclaim/quiet_runs: pages of runs without a live block go back, and come again.
#include "slab/purge.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <set>
#include <thread>

#include "heap_support.h"
#include "reclaim/quiet_runs.h"
#include "slab/reclaim.h"
#include "slab_support.h"

namespace acre {
namespace {

uint64_t resident_pages(const Slab* slab) {
  std::vector<unsigned char> there(slab->run->pages);
  EXPECT_EQ(mincore(pointer_to(slab->base), slab->run->bytes(), there.data()), 0);
  uint64_t bits = 0;
  for (size_t page = 0; page < there.size(); ++page) bits |= uint64_t{there[page] & 1u} << page;
  return bits;
}

uint64_t pages_of(const Slab* slab, const std::vector<void*>& blocks) {
  uint64_t bits = 0;
  for (const void* block : blocks) bits |= slab::pages_of_block(address_of(block) - slab->base, slab->block_bytes);
  return bits;
}

// A run of which the program has some blocks, in its bin, without a heap.
class PurgedRun {
 public:
  explicit PurgedRun(SizeClass c) : c_(c) {
    slab_ = test::make_slab(arena_, c);
    for (void* block : test::carve_all(slab_)) {
      memset(block, 0x5a, slab_->block_bytes);
      all_.insert(block);
    }
    slab::release(slab_);
  }

  // Lives on: each block for which keep(index) is true. Two in three of the others are freed by nobody's thread.
  template <class Keep>
  void free_but(Keep keep) {
    std::vector<void*> freed;
    for (void* block : all_) {
      (keep(block_index(slab_, address_of(block))) ? live_ : freed).push_back(block);
    }
    test::give_back(slab_, freed);
  }

  Bin::Quiet take_quiet(uint64_t now_ms = kNever) { return arena_.bin(c_).take_quiet(slab_, now_ms); }

  size_t purge() {
    EXPECT_EQ(take_quiet(), Bin::Quiet::kTaken);
    const size_t pages = slab::purge(slab_);
    EXPECT_FALSE(arena_.bin(c_).offer(slab_));
    return pages;
  }

  // Every block is live, or is handed out by the run, once.
  void expect_rest(const std::vector<void*>& found) {
    std::set<void*> seen(live_.begin(), live_.end());
    for (void* block : found) EXPECT_TRUE(seen.insert(block).second) << "handed out twice";
    EXPECT_EQ(seen, all_);
    for (const void* block : live_) {
      const auto* bytes = static_cast<const unsigned char*>(block);
      EXPECT_TRUE(std::all_of(bytes, bytes + slab_->block_bytes, [](unsigned char byte) { return byte == 0x5a; }));
    }
  }

  void end() {
    test::give_back(slab_, std::vector<void*>(all_.begin(), all_.end()));
    EXPECT_EQ(arena_.pages.counts().used, 0u);
  }

  const SizeClass c_;
  Arena& arena_ = test::new_arena();
  Slab* slab_;
  std::set<void*> all_;
  std::vector<void*> live_;
};

// All that the owner of a run can reach.
std::vector<void*> use_up(Slab* slab) {
  std::vector<void*> all = test::blocks_of(slab, slab::take_deferred(slab));
  for (void* block : test::collect(slab)) all.push_back(block);
  if (slab->carved == slab->capacity) return all;
  for (void* block : test::carve_all(slab)) all.push_back(block);
  return all;
}

class PurgeOfClass : public testing::TestWithParam<SizeClass> {};

TEST_P(PurgeOfClass, LeavesPagesWithALiveBlockAlone) {
  test::Random random(GetParam() + 1);
  for (const size_t one_in : {2, 5, 20}) {
    PurgedRun run(GetParam());
    const size_t lives = random.below(run.slab_->capacity);
    run.free_but([&](uint32_t i) { return i == lives || random.one_in(one_in); });
    if (!is_binned(load_remote(run.slab_).state)) continue;
    run.purge();
    EXPECT_EQ(resident_pages(run.slab_), pages_of(run.slab_, run.live_));
    EXPECT_EQ(run.take_quiet(), Bin::Quiet::kNot) << "nothing has changed";
    if (one_in != 5) {  // the next owner gets all
      const Bin::Taken taken = run.arena_.bin(run.c_).take(test::kOther, 1);
      ASSERT_EQ(taken.run, run.slab_);
      test::expect_adds_up(run.slab_, run.live_.size());
      run.expect_rest(use_up(run.slab_));
      slab::release(run.slab_);
    } else {  // others take blocks of it
      std::vector<void*> rest;
      for (BlockList blocks; (blocks = run.arena_.bin(run.c_).take_blocks(3));) {
        for (void* block : test::blocks_of(run.slab_, blocks.head)) rest.push_back(block);
        if (rest.size() + run.live_.size() == run.all_.size()) break;
        ASSERT_LT(rest.size(), run.all_.size());
        if (!is_binned(load_remote(run.slab_).state)) break;  // the rest is for its last owner
      }
      if (slab::adopt(run.slab_, test::kOwner)) {
        for (void* block : use_up(run.slab_)) rest.push_back(block);
        slab::release(run.slab_);
      }
      run.expect_rest(rest);
    }
    run.end();
  }
}
INSTANTIATE_TEST_SUITE_P(Classes, PurgeOfClass, testing::Range(SizeClass{0}, kSmallClasses));

// Other threads take a few blocks: no more pages than these need come again.
TEST(PurgeOfRun, PagesComeAgainOneByOne) {
  PurgedRun run(class_of_size(512));
  run.free_but([&](uint32_t i) { return i + 1 == run.slab_->capacity; });
  EXPECT_EQ(run.purge(), 7u);
  EXPECT_EQ(resident_pages(run.slab_), 0x80u);
  const uint64_t before = resident_pages(run.slab_);
  const BlockList blocks = run.arena_.bin(run.c_).take_blocks(9);  // those that are left on the last page come first
  EXPECT_EQ(resident_pages(run.slab_), before);
  EXPECT_EQ(blocks.count, 7u);
  const BlockList more = run.arena_.bin(run.c_).take_blocks(9);
  EXPECT_EQ(more.count, 8u);
  EXPECT_EQ(resident_pages(run.slab_), 0x81u);
  EXPECT_EQ(run.take_quiet(), Bin::Quiet::kTaken) << "the run has changed";
  EXPECT_FALSE(run.arena_.bin(run.c_).offer(run.slab_));
  std::vector<void*> back = test::blocks_of(run.slab_, blocks.head);
  for (void* block : test::blocks_of(run.slab_, more.head)) back.push_back(block);
  test::give_back(run.slab_, back);
  EXPECT_EQ(run.purge(), 1u);
  EXPECT_EQ(resident_pages(run.slab_), 0x80u);
  test::give_back(run.slab_, run.live_);
  EXPECT_EQ(run.arena_.pages.counts().used, 0u);
}

TEST(PurgeOfRun, WaitsUntilTheRunWasQuietForHalfOfTheDecayTime) {
  PurgedRun run(class_of_size(512));
  run.arena_.pages.set_dirty_decay_ms(2000);
  run.free_but([](uint32_t i) { return i == 0 || i == 60; });
  EXPECT_EQ(run.take_quiet(5000), Bin::Quiet::kNotYet);
  EXPECT_EQ(run.take_quiet(5999), Bin::Quiet::kNotYet);
  test::give_back(run.slab_, {run.live_.back()});
  run.live_.pop_back();
  EXPECT_EQ(run.take_quiet(6000), Bin::Quiet::kNotYet) << "it has changed";
  EXPECT_EQ(run.take_quiet(6999), Bin::Quiet::kNotYet);
  run.arena_.pages.set_dirty_decay_ms(-1);
  EXPECT_EQ(run.take_quiet(100000), Bin::Quiet::kNotYet) << "never";
  run.arena_.pages.set_dirty_decay_ms(2000);
  EXPECT_EQ(run.take_quiet(7000), Bin::Quiet::kTaken);
  slab::purge(run.slab_);
  EXPECT_FALSE(run.arena_.bin(run.c_).offer(run.slab_));
  EXPECT_EQ(run.take_quiet(20000), Bin::Quiet::kNot);
  test::give_back(run.slab_, run.live_);
  EXPECT_EQ(run.arena_.pages.counts().used, 0u);
}

// A shared run: its former owner has the hostage.
TEST(PurgeOfRun, LeavesTheHostageOfASharedRun) {
  const SizeClass c = class_of_size(1024);
  Arena& arena = test::new_arena();
  Slab* slab = test::make_slab(arena, c);
  std::vector<void*> blocks = test::carve_all(slab);
  for (size_t i = 0; i + 1 < blocks.size(); ++i) slab::defer(slab, blocks[i]);
  Link* const hostage = slab::find_hostage(slab);
  ASSERT_FALSE(hostage == nullptr);
  slab::share(slab, hostage);
  ASSERT_EQ(arena.bin(c).take_quiet(slab, kNever), Bin::Quiet::kTaken);
  EXPECT_EQ(slab::purge(slab), 7u);
  EXPECT_FALSE(arena.bin(c).offer(slab));
  EXPECT_EQ(resident_pages(slab), 0x80u);
  EXPECT_EQ(slab::unshare(slab), 1u);
  test::give_back(slab, {blocks.back()});
  EXPECT_EQ(arena.pages.counts().used, 0u);
}

// --- A whole process ----------------------------------------------------------------------------------------------

// Blocks of a class that is the test's own, of which one in 16 lives.
std::vector<char*> scatter(size_t bytes, std::vector<char*>* freed = nullptr) {
  std::vector<char*> live, all;
  for (size_t i = 0; i < 16000; ++i) {
    all.push_back(static_cast<char*>(acre_malloc(bytes)));
    memset(all.back(), static_cast<int>(i), bytes);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    if (i % 16 == 0) {
      live.push_back(all[i]);
    } else {
      acre_free(all[i]);
      if (freed != nullptr) freed->push_back(all[i]);
    }
  }
  empty_heap(test::my_heap());
  return live;
}

struct Pages {
  size_t resident = 0;  // of the runs of these blocks
  size_t bound = 0;     // on which such a block lies
};
Pages pages_of_runs(const std::vector<char*>& blocks) {
  std::set<const Slab*> runs;
  std::set<size_t> pages;
  for (const char* block : blocks) {
    const Slab* slab = test::slab_of(block);
    runs.insert(slab);
    for (size_t at = 0; at < slab->block_bytes; at += 8) pages.insert((address_of(block) + at) >> kPageShift);
  }
  Pages result{0, pages.size()};
  for (const Slab* slab : runs) result.resident += static_cast<size_t>(std::popcount(resident_pages(slab)));
  return result;
}

bool are_scattered(const Pages& pages) { return pages.resident > 2 * pages.bound; }
bool are_at_bound(const Pages& pages) { return pages.resident <= pages.bound + pages.bound / 50; }

TEST(QuietRuns, TrimLeavesOnlyPagesWithLiveBlocks) {
  std::vector<char*> live = scatter(700);
  EXPECT_TRUE(are_scattered(pages_of_runs(live)));
  quiet_runs::purge_all();
  EXPECT_TRUE(are_at_bound(pages_of_runs(live)));
  for (size_t i = 0; i < live.size(); ++i) {
    for (size_t at = 0; at < 700; at += 50) ASSERT_EQ(live[i][at], static_cast<char>(16 * i));
    acre_free(live[i]);
  }
}

TEST(QuietRuns, DecayByTicks) {
  std::vector<char*> live = scatter(850);
  const int64_t decay = test::my_heap().arena->pages.dirty_decay_ms();
  uint64_t now = os::now_ms() + 100000;
  for (int i = 0; i < 40; ++i) quiet_runs::step(now += 100);
  EXPECT_TRUE(are_scattered(pages_of_runs(live))) << "not before the decay time";
  for (int64_t ms = 0; ms < 2 * decay + 10000; ms += 500) quiet_runs::step(now += 500);
  EXPECT_TRUE(are_at_bound(pages_of_runs(live)));
  for (char* block : live) acre_free(block);
}

TEST(QuietRunsDeathTest, ASecondFreeOnAPurgedPageIsFound) {
  std::vector<char*> freed;
  std::vector<char*> live = scatter(600, &freed);
  quiet_runs::purge_all();
  char* victim = nullptr;
  for (char* block : freed) {
    if (const Slab* slab = test::slab_of(block); slab != nullptr && slab::is_uncut(slab, block)) victim = block;
  }
  ASSERT_NE(victim, nullptr);
  EXPECT_EQ(acre_owns(victim), 0);
  EXPECT_DEATH(acre_free(victim), "double free");
  EXPECT_DEATH(acre_malloc_usable_size(victim), "double free");
  std::thread([victim] { EXPECT_DEATH(acre_free(victim), "double free"); }).join();
  for (char* block : live) acre_free(block);
}

// Threads allocate, fill, check and free, while another purges all that it finds.
TEST(QuietRuns, PurgesBesideThreadsAtWork) {
  std::atomic<bool> done{false};
  std::thread purger([&done] {
    while (!done) quiet_runs::purge_all();
  });
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      test::Random random(t + 5);
      std::vector<std::pair<unsigned char*, size_t>> blocks(800);
      for (int round = 0; round < 60000; ++round) {
        auto& [block, size] = blocks[random.below(blocks.size())];
        if (block != nullptr) {
          const auto mark = static_cast<unsigned char>(address_of(block) >> 4);
          ASSERT_TRUE(block[0] == mark && block[size / 2] == mark && block[size - 1] == mark);
          acre_free(block);
        }
        size = random.one_in(50) ? random.between(4097, 30000) : random.between(8, 1500);
        block = static_cast<unsigned char*>(acre_malloc(size));
        memset(block, static_cast<int>(address_of(block) >> 4), size);
        if (round % 4000 == 0) empty_heap(test::my_heap());
      }
      for (auto& [block, size] : blocks) acre_free(block);
    });
  }
  for (std::thread& thread : threads) thread.join();
  done = true;
  purger.join();
}

}  // namespace
}  // namespace acre
