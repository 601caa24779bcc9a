// control/statistics: figures that add up, to the byte while all threads rest, and in order while none does.
#include "control/statistics.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "cache/registry.h"
#include "heap_support.h"
#include "observe/sampler.h"
#include "pages/huge.h"
#include "pages/page_map.h"
#include "reclaim/idle.h"
#include "slab/unit_table.h"
#include "support.h"
#include "worker.h"

namespace acre {
namespace {

using test::Random;
using test::Worker;

// What the test has allocated and not freed.
struct Blocks {
  std::vector<char*> all;

  void add(size_t size, size_t count = 1) {
    for (; count != 0; --count) all.push_back(static_cast<char*>(acre_malloc(size)));
  }
  // Frees those for which `which` holds.
  void free_if(const std::function<bool(size_t)>& which) {
    std::vector<char*> kept;
    for (size_t i = 0; i < all.size(); ++i) {
      if (which(i)) {
        acre_free(all[i]);
      } else {
        kept.push_back(all[i]);
      }
    }
    all = kept;
  }
  void free_every(size_t n) {
    free_if([n](size_t i) { return i % n == 0; });
  }
  size_t bytes() const {
    size_t sum = 0;
    for (char* block : all) sum += acre_malloc_usable_size(block);
    return sum;
  }
};

struct DropReport {
  void operator()(Report* report) const { drop_report(report); }
};
using OwnedReport = std::unique_ptr<Report, DropReport>;
OwnedReport report_now() { return OwnedReport(make_report()); }

uint64_t sum_of_parts(const ProcessStatistics& s) {
  return s.requested + s.rounding + s.private_lists + s.deferred + s.remote_lists + s.uncarved +
         s.outboxes + s.run_free + s.run_rest + s.transit + s.dirty + s.muzzy + s.purging + s.clean + s.metadata +
         s.metadata_unused;
}

// What holds whatever the threads do.
void expect_order(const Report& report) {
  const ProcessStatistics& s = report.process;
  EXPECT_LE(s.allocated, s.active);
  EXPECT_LE(s.active, s.resident);
  EXPECT_LE(s.resident, s.mapped);
  EXPECT_EQ(s.mapped, sum_of_parts(s));
  EXPECT_EQ(s.allocated, s.live_small + s.live_large + s.live_huge);
  for (size_t i = 0; i < sizeof s / sizeof(uint64_t); ++i) {
    EXPECT_LT(figures_of(s)[i], uint64_t{1} << 60) << kProcessTable[i].name << " is below zero";
  }
  ArenaStatistics sum;
  report.for_each([&](unsigned, const ArenaReport& each) {
    const ArenaStatistics& arena = each.arena;
    EXPECT_LE(arena.live_small + arena.live_large, arena.active);
    EXPECT_LE(arena.resident, arena.mapped);
    EXPECT_EQ(arena.active, arena.live_small + arena.live_large + arena.private_lists + arena.deferred +
                                arena.remote_lists + arena.uncarved + arena.outboxes + arena.run_free +
                                arena.run_rest + arena.transit);
    sum.live_small += arena.live_small;
    sum.mapped += arena.mapped;
  });
  // Of an arena that was made meanwhile, or has no number, there are no figures but in `all`.
  EXPECT_LE(sum.live_small, report.all.arena.live_small);
  EXPECT_LE(sum.mapped + s.live_huge, report.all.arena.mapped);
}

void expect_sums(const Report& report) {
  if (arenas::first_manual() != nullptr) return;
  uint64_t live_small = 0, mapped = report.process.live_huge;
  report.for_each([&](unsigned, const ArenaReport& each) {
    live_small += each.arena.live_small;
    mapped += each.arena.mapped;
  });
  EXPECT_EQ(live_small, report.all.arena.live_small);
  EXPECT_EQ(mapped, report.all.arena.mapped);
}

void expect_classes_add_up(const ArenaReport& report) {
  uint64_t bytes = 0;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const ClassStatistics& s = report.classes[c];
    const std::string where = "class of " + std::to_string(size_of_class(c));
    EXPECT_EQ(s.runs, s.owned + s.full + s.binned + s.shared + s.sampled) << where;
    EXPECT_EQ(s.runs * run_shape(c).capacity,
              s.live + s.private_list + s.deferred + s.remote_list + s.uncarved + s.outbox + s.free) << where;
    EXPECT_LE(s.fragmentation, 1000u) << where;
    EXPECT_LE(s.rounding, s.live * size_of_class(c)) << where;
    bytes += s.live * size_of_class(c);
  }
  EXPECT_EQ(bytes, report.arena.live_small);
}

class StatisticsTest : public testing::Test {
 protected:
  StatisticsTest() {
    acre_free(acre_malloc(1));
    const OwnedReport report = report_now();
    allocated_before_ = report->process.allocated;
    elsewhere_ = window::mapped_bytes() - obtained();  // of other tests' page heaps
  }

  static size_t obtained() {
    size_t pages = 0;
    arenas::for_each([&](Arena& arena) { pages += arena.pages.counts().obtained; });
    return pages * kPageBytes;
  }

  // To the byte, while all threads rest.
  void expect_identity(std::initializer_list<const Blocks*> live) const {
    const OwnedReport report = report_now();
    const ProcessStatistics& s = report->process;
    size_t bytes = allocated_before_, count = 0;
    for (const Blocks* blocks : live) {
      bytes += blocks->bytes();
      count += blocks->all.size();
    }
    EXPECT_EQ(s.allocated, bytes);
    if (allocated_before_ == 0) {
      EXPECT_EQ(s.small_blocks + s.large_blocks + s.huge_blocks, count);
    }
    EXPECT_EQ(s.transit, 0u);
    EXPECT_EQ(s.purging, 0u);
    EXPECT_EQ(s.mapped, window::mapped_bytes() - elsewhere_ + huge::counts().bytes + metadata::mapped_bytes() +
                            PageMap::mapped_bytes() + unit_table::committed_bytes());
    expect_order(*report);
    expect_sums(*report);
    report->for_each([](unsigned, const ArenaReport& arena) { expect_classes_add_up(arena); });
    expect_classes_add_up(report->all);
    expect_same(gather_process(), s);
  }

  // The two ways of gathering, but for what the kernel says.
  static void expect_same(const ProcessStatistics& a, const ProcessStatistics& b) {
    for (size_t i = 0; i < sizeof a / sizeof(uint64_t); ++i) {
      const std::string name = kProcessTable[i].name;
      if (name == "mapped" || name == "resident" || name.starts_with("metadata")) continue;  // the second needs memory
      if (name == "process_resident" || name.starts_with("calls") || name.ends_with("faults")) continue;
      EXPECT_EQ(figures_of(a)[i], figures_of(b)[i]) << name;
    }
  }

  size_t allocated_before_;
  size_t elsewhere_;
};

// With a number and without one, with blocks on the private lists of their heaps.
TEST_F(StatisticsTest, ManualArenas) {
  Blocks blocks;
  ManualArena* numbered = arenas::create({});
  ManualArena* unnumbered = arenas::create({});
  const unsigned number = arenas::give_number(*numbered);
  const auto take = [&](ManualArena* arena, size_t size) {
    blocks.all.push_back(static_cast<char*>(arenas::allocate_in(*arena, size, 1, false)));
  };
  for (size_t i = 0; i < 3000; ++i) {
    take(numbered, 16 + i % 500);
    take(unnumbered, 16 + i % 9000);
  }
  take(numbered, size_t{70} << 20);
  take(unnumbered, 100000);
  expect_identity({&blocks});
  blocks.free_every(3);
  expect_identity({&blocks});
  const OwnedReport report = report_now();
  ASSERT_NE(report->of(number), nullptr);
  EXPECT_GT(report->of(number)->arena.private_lists, 0u);
  EXPECT_EQ(report->of(number)->arena.threads, 0u);
  EXPECT_EQ(report->of(number + 1), nullptr);
  blocks.free_every(1);
  expect_identity({&blocks});
  arenas::destroy(*numbered);
  arenas::destroy(*unnumbered);
  expect_identity({&blocks});
}

TEST_F(StatisticsTest, OneThread) {
  Blocks blocks;
  expect_identity({&blocks});
  blocks.add(100, 5000);
  expect_identity({&blocks});
  blocks.free_every(3);
  expect_identity({&blocks});
  blocks.add(3000, 500);
  blocks.free_every(2);
  expect_identity({&blocks});
  blocks.add(200000, 20);
  blocks.add(size_t{100} << 20, 2);
  expect_identity({&blocks});
  blocks.free_if([](size_t) { return true; });
  expect_identity({&blocks});
  acre_malloc_trim(0);
  expect_identity({&blocks});
}

// Frees of others' blocks: in the outbox, on a remote list, and in runs that nobody owns.
TEST_F(StatisticsTest, BlocksBetweenThreads) {
  Worker maker;
  Blocks theirs;
  maker.run([&] { theirs.add(64, 3000); });
  theirs.free_every(7);
  EXPECT_GT(gather_process().outboxes, 0u);
  expect_identity({&theirs});
  heap_if_any()->outbox().flush();
  EXPECT_EQ(gather_process().outboxes, 0u);
  EXPECT_GT(gather_process().remote_lists, 0u);
  expect_identity({&theirs});
  maker.run([&] { theirs.add(64, 500); });
  expect_identity({&theirs});
  maker.run([&] { theirs.free_if([](size_t i) { return i % 2 == 0; }); });
  EXPECT_GT(gather_process().deferred, 0u);
  expect_identity({&theirs});
}

// An idle thread's runs become shared; its private lists stay its own.
TEST_F(StatisticsTest, SharedRuns) {
  Worker sleeper, other;
  Blocks theirs, others;
  sleeper.run([&] {
    for (size_t i = 0; i < 4000; ++i) theirs.add(300 + i % 5 * 200);
    theirs.free_every(3);
  });
  expect_identity({&theirs});
  for (int i = 0; i < 4; ++i) test::look_at_all(heap_if_any());
  uint64_t shared = 0;
  const OwnedReport report = report_now();
  for (const ClassStatistics& figures : report->all.classes) shared += figures.shared;
  EXPECT_GT(shared, 0u);
  expect_identity({&theirs});
  other.run([&] {
    for (size_t i = 0; i < 1000; ++i) others.add(300 + i % 5 * 200);
  });
  expect_identity({&theirs, &others});
  theirs.free_every(2);
  expect_identity({&theirs, &others});
  sleeper.run([&] { theirs.add(500, 100); });  // awake: the sharing ends
  expect_identity({&theirs, &others});
}

// A key's destructor allocates when the thread's heap was ended already.
TEST_F(StatisticsTest, ThreadsThatEnd) {
  static Blocks* late;
  Blocks blocks;
  late = &blocks;
  pthread_key_t key;
  ASSERT_EQ(pthread_key_create(&key, [](void*) {
    late->add(150, 40);
    acre_free(late->all.back());
    late->all.pop_back();
  }), 0);
  const ProcessStatistics before = gather_process();
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      blocks.add(150, 1000);
      blocks.free_every(4);
      pthread_setspecific(key, &blocks);
    }).join();
    expect_identity({&blocks});
  }
  const ProcessStatistics after = gather_process();
  EXPECT_GE(after.refills, before.refills + 3) << "what ended threads did is not forgotten";
  EXPECT_GE(after.new_runs, before.new_runs + 1);
  pthread_key_delete(key);
  blocks.free_if([](size_t) { return true; });
  expect_identity({&blocks});
}

TEST_F(StatisticsTest, PagesOfEachKind) {
  Blocks blocks;
  PageHeap& pages = arenas::at(0)->pages;
  const uint64_t muzzy_purged = report_now()->each[0]->arena.muzzy_purged;
  blocks.add(size_t{1} << 20, 8);
  for (char* block : blocks.all) memset(block, 1, size_t{1} << 20);
  blocks.free_every(2);
  EXPECT_GT(gather_process().dirty, 0u);
  expect_identity({&blocks});
  pages.set_dirty_decay_ms(0);
  pages.set_muzzy_decay_ms(-1);
  pages.decay(os::now_ms() + 1);
  EXPECT_GT(gather_process().muzzy, 0u);
  expect_identity({&blocks});
  OwnedReport report = report_now();
  EXPECT_GE(report->each[0]->arena.dirty_purges, 1u);
  EXPECT_GE(report->each[0]->arena.dirty_purged, size_t{4} << 20);
  EXPECT_EQ(report->each[0]->arena.muzzy_purged, muzzy_purged);
  EXPECT_GE(report->process.calls_madvise, report->process.purges);
  pages.purge_to(0);
  report = report_now();
  EXPECT_EQ(report->process.muzzy, 0u);
  EXPECT_GE(report->each[0]->arena.muzzy_purged, muzzy_purged + (size_t{4} << 20));
  EXPECT_GE(report->process.purged, size_t{4} << 20);
  uint64_t free_pages = 0, large = 0;
  for (const LengthStatistics& figures : report->each[0]->lengths) {
    free_pages += figures.dirty + figures.muzzy + figures.clean;
    large += figures.large;
  }
  EXPECT_EQ(free_pages, report->each[0]->arena.dirty + report->each[0]->arena.muzzy + report->each[0]->arena.clean);
  EXPECT_EQ(large, report->each[0]->arena.live_large);
  expect_identity({&blocks});
  pages.set_dirty_decay_ms(10000);
  pages.set_muzzy_decay_ms(0);
}

TEST_F(StatisticsTest, WhatIsCounted) {
  const ProcessStatistics before = gather_process();
  void* huge = acre_malloc(size_t{100} << 20);
  EXPECT_EQ(acre_realloc(acre_malloc(1), 0), nullptr);
  acre_free(huge);
  const ProcessStatistics after = gather_process();
  EXPECT_GE(after.calls_mmap, before.calls_mmap + 1);
  EXPECT_EQ(after.calls_munmap, before.calls_munmap + 1);
  EXPECT_EQ(after.zero_reallocs, before.zero_reallocs + 1);
  EXPECT_GT(after.minor_faults, 0u);
  EXPECT_GT(after.process_resident, 0u);
  EXPECT_EQ(after.threads, registry::live_heaps());
}

uint64_t sampled_runs_of(const Report& report) {
  uint64_t runs = 0;
  for (const ClassStatistics& figures : report.all.classes) runs += figures.sampled;
  return runs;
}

// Every so many bytes a block is seen by a sampler, and comes from a run of its own kind.
class Sampling {
 public:
  explicit Sampling(uint64_t gap) {
    gap_ = gap;
    sampler::start(kSampler);
  }
  ~Sampling() { sampler::stop(); }

 private:
  static inline uint64_t gap_;
  static constexpr sampler::Sampler kSampler{[](size_t) { return gap_; },
                                           [](const void*, size_t, Address) -> Ticket { return 1; }, [](Ticket) {},
                                           nullptr};
};

TEST_F(StatisticsTest, SampledBlocks) {
  Worker other;
  Blocks blocks, others;
  for (uint64_t gap : {0, 9, 500}) {
    const Sampling sampling(gap);
    blocks.add(100, 3000);
    blocks.add(3000, 300);
    blocks.add(100000, 5);
    other.run([&] { others.add(1500, 700); });
    EXPECT_GT(sampled_runs_of(*report_now()), 0u);
    expect_identity({&blocks, &others});
    blocks.free_every(3);
    others.free_every(2);
    expect_identity({&blocks, &others});
  }
  expect_identity({&blocks, &others});
  blocks.free_if([](size_t) { return true; });
  others.free_if([](size_t) { return true; });
  expect_identity({&blocks, &others});
}

// Random work in several threads, which hand blocks to each other; now and then all of them rest.
class Mob {
 public:
  explicit Mob(unsigned threads) : blocks_(threads) {}

  void work(unsigned me, uint64_t seed, size_t rounds) {
    Random random(seed * 64 + me);
    for (size_t i = 0; i < rounds; ++i) {
      std::unique_lock lock(mutex_);
      Blocks& any = blocks_[random.below(blocks_.size())];
      char* theirs = nullptr;
      if (!any.all.empty() && random.one_in(2)) {
        std::swap(any.all[random.below(any.all.size())], any.all.back());
        theirs = any.all.back();
        any.all.pop_back();
      }
      lock.unlock();
      if (theirs != nullptr) {
        acre_free(theirs);
        continue;
      }
      const size_t size = random.one_in(100) ? random.between(32769, 400000) : random.between(1, random.one_in(4) ? 32768 : 600);
      char* mine = static_cast<char*>(acre_malloc(size));
      lock.lock();
      blocks_[me].all.push_back(mine);
    }
  }

  std::vector<Blocks> blocks_;

 private:
  std::mutex mutex_;
};

TEST_F(StatisticsTest, ManyThreadsAtRest) {
  constexpr unsigned kThreads = 6;
  Mob mob(kThreads);
  std::vector<Worker> workers(kThreads);
  uint64_t states[4] = {}, outboxes = 0, remote = 0;
  for (uint64_t round = 0; round < 12; ++round) {
    std::vector<std::thread> drivers;
    for (unsigned i = 0; i < kThreads; ++i) {
      if (round % 4 == 3 && i % 2 == 0) continue;  // some sleep while others work
      drivers.emplace_back([&, i] { workers[i].run([&, i] { mob.work(i, round, 6000); }); });
    }
    for (std::thread& driver : drivers) driver.join();
    if (round % 3 == 2) {
      for (int i = 0; i < 3; ++i) test::look_at_all(heap_if_any());
    }
    expect_identity({&mob.blocks_[0], &mob.blocks_[1], &mob.blocks_[2], &mob.blocks_[3], &mob.blocks_[4],
                     &mob.blocks_[5]});
    const OwnedReport report = report_now();
    for (const ClassStatistics& figures : report->all.classes) {
      states[0] += figures.owned;
      states[1] += figures.full;
      states[2] += figures.binned;
      states[3] += figures.shared;
    }
    outboxes += report->process.outboxes;
    remote += report->process.remote_lists;
  }
  for (size_t i = 0; i < 4; ++i) EXPECT_GT(states[i], 0u) << "state " << i;
  EXPECT_GT(outboxes, 0u);
  EXPECT_GT(remote, 0u);
}

TEST_F(StatisticsTest, ManyThreadsAtWork) {
  const Sampling sampling(200);
  constexpr unsigned kThreads = 4;
  Mob mob(kThreads);
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (uint64_t round = 0; !stop; ++round) mob.work(i, round, 200);
    });
  }
  ProcessStatistics before = gather_process();
  for (int look = 0; look < 150; ++look) {
    const OwnedReport report = report_now();
    expect_order(*report);
    for (size_t i = 0; i < sizeof before / sizeof(uint64_t); ++i) {
      if (kProcessTable[i].kind != StatKind::kCounter) continue;
      EXPECT_GE(figures_of(report->process)[i], figures_of(before)[i]) << kProcessTable[i].name;
    }
    before = report->process;
    if (look % 50 == 0) std::thread([] { acre_free(acre_malloc(100)); }).join();
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  expect_identity({&mob.blocks_[0], &mob.blocks_[1], &mob.blocks_[2], &mob.blocks_[3]});
}

TEST(StatisticsTable, NamesDiffer) {
  for (unsigned scope = 0; scope < kStatScopes; ++scope) {
    const StatTable table = stat_table(static_cast<StatScope>(scope));
    std::set<std::string> names, ctl_names;
    for (unsigned row = 0; row < table.count; ++row) {
      EXPECT_TRUE(names.insert(table.rows[row].name).second) << table.rows[row].name;
      EXPECT_TRUE(ctl_names.insert(table.rows[row].ctl).second) << table.rows[row].ctl;
      EXPECT_STRNE(stat_help(static_cast<StatScope>(scope), row), "");
    }
    EXPECT_STREQ(stat_help(static_cast<StatScope>(scope), table.count), "");
  }
}

}  // namespace
}  // namespace acre
