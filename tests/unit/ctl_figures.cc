// control/ctl: figures, when they are taken, and arenas: purge, decay, manual ones.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "cache/registry.h"
#include "ctl_calls.h"
#include "manual/manual_arena.h"
#include "pages/release_rate.h"

namespace acre {
namespace {

using test::act;
using test::get;
using test::mib_of;
using test::renew_figures;
using test::set;
using test::value_of;

using CtlFigures = test::CtlTest;

TEST_F(CtlFigures, Epoch) {
  const uint64_t before = value_of<uint64_t>("epoch");
  EXPECT_EQ(value_of<uint64_t>("epoch"), before);
  uint64_t now = 0;
  size_t size = sizeof now;
  do {
    EXPECT_EQ(ctl::by_name("epoch", &now, &size, &now, sizeof now), 0);
  } while (now == before);  // it took long to gather the last ones
  EXPECT_EQ(now, before + 1) << "the new one is read";
}

TEST(CtlEpoch, FiguresThatTakeLongAreGatheredSeldom) {
  constexpr uint64_t kMs = 1000000;
  EXPECT_EQ(ctl::Debt().at(5000), 0u);
  constexpr ctl::Debt debt{200 * kMs, 5000};
  EXPECT_EQ(debt.at(5000), 200 * kMs);
  EXPECT_EQ(debt.at(4990), 200 * kMs) << "another thread has gathered meanwhile";
  EXPECT_EQ(debt.at(6000), 180 * kMs) << "a fiftieth of a processor";
  EXPECT_EQ(debt.at(14999), 200 * kMs - 9999 * kMs / 50);
  EXPECT_EQ(debt.at(15000), 0u);
  EXPECT_EQ(debt.at(1000000), 0u);

  // However long one takes, all together take no more than a fiftieth of the time, and what may be owed.
  for (uint64_t cost : {kMs / 10, 3 * kMs, 700 * kMs}) {
    ctl::Debt owed;
    uint64_t spent = 0;
    for (uint64_t now = 0; now < 1000000; now += 100) {
      if (owed.at(now) >= ctl::kMostDebtNs) continue;
      owed = {owed.at(now) + cost, now};
      spent += cost;
    }
    EXPECT_LE(spent, 1000000 * kMs / 50 + ctl::kMostDebtNs + cost);
    EXPECT_GE(spent, cost < kMs ? 10000 * cost : 1000000 * kMs / 50);
  }
}

TEST_F(CtlFigures, StatisticsAreThoseOfTheEpoch) {
  renew_figures();
  const size_t before = value_of<size_t>("stats.allocated");
  void* large = acre_malloc(size_t{10} << 20);
  void* huge = acre_malloc(size_t{100} << 20);
  std::vector<void*> small(5000);
  for (void*& block : small) block = acre_malloc(1000);
  EXPECT_EQ(value_of<size_t>("stats.allocated"), before);
  renew_figures();
  const size_t allocated = value_of<size_t>("stats.allocated");
  EXPECT_GE(allocated, before + (size_t{110} << 20) + 5000 * 1000);
  EXPECT_LE(allocated, before + (size_t{110} << 20) + 5000 * 1024 + (size_t{1} << 20));
  acre_free(large);
  acre_free(huge);
  for (void* block : small) acre_free(block);
}

TEST_F(CtlFigures, StatisticsAddUp) {
  renew_figures();
  const auto size = [](const std::string& name) { return value_of<size_t>(name); };
  const auto all = [&](const std::string& name) { return size("stats.arenas.4096." + name); };
  EXPECT_LE(size("stats.allocated"), size("stats.active"));
  EXPECT_LE(size("stats.active"), size("stats.resident"));
  EXPECT_LE(size("stats.resident"), size("stats.mapped"));
  EXPECT_EQ(size("stats.active"), all("pactive") * kPageBytes);
  EXPECT_EQ(size("stats.resident"), size("stats.active") + size("stats.metadata") + size("stats.purging") +
                                        (all("pdirty") + all("pmuzzy")) * kPageBytes);
  EXPECT_EQ(size("stats.mapped"), size("stats.resident") + size("stats.retained") + size("stats.metadata_unused"));
  EXPECT_EQ(size("stats.retained"), all("retained"));
  EXPECT_EQ(size("stats.allocated"), all("small.allocated") + all("large.allocated"));
  for (const char* name : {"pdirty", "pmuzzy", "retained", "small.allocated", "dirty_purged"}) {
    size_t sum = 0;
    for (unsigned i = 0; i < arenas::count(); ++i) sum += size("stats.arenas." + std::to_string(i) + "." + name);
    EXPECT_EQ(sum, all(name)) << name;
  }
  size_t small = 0;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    small += all("bins." + std::to_string(c) + ".curregs") * size_of_class(c);
  }
  EXPECT_EQ(small, all("small.allocated"));
  size_t retained = 0;
  for (unsigned i = 0; i < FreeRuns::kBins; ++i) retained += all("extents." + std::to_string(i) + ".retained_bytes");
  EXPECT_EQ(retained, all("retained"));
  unsigned threads = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) threads += value_of<unsigned>("stats.arenas." + std::to_string(i) + ".nthreads");
  EXPECT_EQ(threads, registry::live_heaps());
}

// ClickHouse's system.jemalloc_bins asks for these.
TEST_F(CtlFigures, BlocksEverAllocatedAndFreedAreCounted) {
  const std::string all = "stats.arenas.4096.", bin = all + "bins." + std::to_string(class_of_size(700)) + ".";
  struct Counts {
    uint64_t allocated, freed, small_allocated, small_freed;
  };
  const auto counts = [&] {
    renew_figures();
    EXPECT_EQ(value_of<uint64_t>(bin + "nmalloc") - value_of<uint64_t>(bin + "ndalloc"), value_of<size_t>(bin + "curregs"));
    EXPECT_EQ(value_of<uint64_t>(all + "small.nmalloc") - value_of<uint64_t>(all + "small.ndalloc"),
              value_of<size_t>(all + "small.blocks"));
    return Counts{value_of<uint64_t>(bin + "nmalloc"), value_of<uint64_t>(bin + "ndalloc"),
                  value_of<uint64_t>(all + "small.nmalloc"), value_of<uint64_t>(all + "small.ndalloc")};
  };
  const auto expect_since = [&](const Counts& before, uint64_t allocated, uint64_t freed) {
    const Counts now = counts();
    EXPECT_EQ(now.allocated - before.allocated, allocated);
    EXPECT_EQ(now.freed - before.freed, freed);
    EXPECT_EQ(now.small_allocated - before.small_allocated, allocated);
    EXPECT_EQ(now.small_freed - before.small_freed, freed);
  };
  std::vector<void*> blocks(1000);
  const Counts before = counts();
  for (void*& block : blocks) block = acre_malloc(700);
  expect_since(before, 1000, 0);
  for (int i = 0; i < 400; ++i) acre_free(blocks[i]);
  expect_since(before, 1000, 400);
  for (int i = 0; i < 3000; ++i) acre_free(acre_malloc(700));  // from the list and back
  expect_since(before, 4000, 3400);
  std::thread([] {
    for (int i = 0; i < 50; ++i) acre_free(acre_malloc(700));
  }).join();
  expect_since(before, 4050, 3450);
  for (int i = 400; i < 1000; ++i) acre_free(blocks[i]);
  expect_since(before, 4050, 4050);
}

TEST_F(CtlFigures, ActivePagesAreToldWithoutAnEpoch) {
  renew_figures();
  const uint64_t epoch = ctl::epoch();
  EXPECT_EQ(value_of<size_t>("approximate_stats.active"), value_of<size_t>("stats.active"));
  void* large = acre_malloc(50 * kSmallMax);
  EXPECT_EQ(value_of<size_t>("approximate_stats.active"), value_of<size_t>("stats.active") + 50 * kSmallMax);
  acre_free(large);
  EXPECT_EQ(ctl::epoch(), epoch);
}

TEST_F(CtlFigures, TwoNumbersInAName) {
  void* blocks[10];
  for (void*& block : blocks) block = acre_malloc(1000);
  void* large = acre_malloc(kSmallMax + 3 * kPageBytes);
  renew_figures();
  const SizeClass c = class_of_size(1000);
  const std::string arena = "stats.arenas." + std::to_string(heap_if_any()->arena->index);
  const std::string bin = arena + ".bins." + std::to_string(c);
  EXPECT_EQ(value_of<size_t>(bin + ".curregs"), 10u);
  EXPECT_GE(value_of<size_t>(bin + ".curslabs"), 1u);
  EXPECT_GE(value_of<uint64_t>(bin + ".nfills"), 1u);
  EXPECT_GE(value_of<uint64_t>(bin + ".nslabs"), 1u);
  EXPECT_EQ(value_of<size_t>(arena + ".lextents.2.curlextents"), 1u);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.lextents.2.curlextents"), 1u);
  EXPECT_EQ(value_of<size_t>(arena + ".lextents.1.curlextents"), 0u);

  std::vector<size_t> mib = mib_of(bin + ".curregs");
  ASSERT_EQ(mib.size(), 6u);
  EXPECT_EQ(mib[4], c);
  size_t value, size = sizeof value, sum = 0;
  for (mib[4] = 0; mib[4] < kSmallClasses; ++mib[4]) {
    ASSERT_EQ(ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0), 0) << mib[4];
    sum += value;
  }
  EXPECT_EQ(ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0), ENOENT) << "one beyond";
  EXPECT_EQ(sum, value_of<size_t>(arena + ".small.blocks"));
  mib[4] = 0;
  mib[2] = arenas::count();
  EXPECT_EQ(ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0), ENOENT) << "no such arena";
  for (const char* name : {".bins.73.curregs", ".bins.0", ".bins..curregs", ".bins.0.mutex", ".lextents.16413.curlextents",
                           ".extents.192.ndirty", ".bins.0.nothing", ".bins.0.curregs.x"}) {
    EXPECT_EQ(act(arena + name), ENOENT) << name;
  }
  for (void* block : blocks) acre_free(block);
  acre_free(large);
}

TEST_F(CtlFigures, LocksCountTheirUse) {
  renew_figures();
  const std::string lock = "stats.arenas.0.mutexes.extents_dirty.";
  const uint64_t before = value_of<uint64_t>(lock + "num_ops");
  acre_free(acre_malloc(size_t{1} << 20));
  renew_figures();
  EXPECT_GE(value_of<uint64_t>(lock + "num_ops"), before + 2);
  EXPECT_LE(value_of<uint64_t>(lock + "max_wait_time"), value_of<uint64_t>(lock + "total_wait_time"));
  EXPECT_EQ(value_of<uint32_t>(lock + "max_num_thds") == 0,
            value_of<uint64_t>(lock + "num_wait") + value_of<uint64_t>(lock + "num_spin_acq") == 0);
  EXPECT_GE(value_of<uint64_t>("stats.mutexes.ctl.num_ops"), 3u);
}

TEST_F(CtlFigures, ArenaOfThread) {
  const unsigned arena = value_of<unsigned>("thread.arena");
  EXPECT_LT(arena, arenas::count());
  EXPECT_EQ(arena, heap_if_any()->arena->index);
  EXPECT_TRUE(value_of<bool>("arena." + std::to_string(arena) + ".initialized"));
  EXPECT_FALSE(arenas::count() < arenas::most() &&
               value_of<bool>("arena." + std::to_string(arenas::most() - 1) + ".initialized"));
  EXPECT_EQ(act("thread.tcache.flush"), 0);
  EXPECT_EQ(heap_if_any()->kept_pages, 0u);
}

TEST_F(CtlFigures, PurgeAndDecay) {
  acre_free(acre_malloc(size_t{10} << 20));
  ASSERT_EQ(renew_figures(), 0);
  ASSERT_GT(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_EQ(act("arena.0.purge"), 0);
  EXPECT_EQ(act("arena.4096.purge"), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_GE(value_of<uint64_t>("stats.arenas.4096.dirty_purged"), (size_t{10} << 20) / kPageBytes);
  EXPECT_GE(value_of<uint64_t>("stats.arenas.4096.dirty_nmadvise"), 1u);
  EXPECT_EQ(act("arena.0.decay"), 0);
  EXPECT_EQ(act("arena.4096.decay"), 0);
  EXPECT_EQ(act("arena." + std::to_string(arenas::most() - 1) + ".purge"), 0) << "even if it is not made yet";
}

// As redis asks.
TEST_F(CtlFigures, TheNumberOfArenasStandsForAllOfThem) {
  acre_free(acre_malloc(size_t{10} << 20));
  EXPECT_EQ(act("arena." + std::to_string(value_of<unsigned>("arenas.narenas")) + ".purge"), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_EQ(act("arena." + std::to_string(arenas::numbers() + 1) + ".purge"), ENOENT);
}

TEST_F(CtlFigures, ArenasOnPurpose) {
  const unsigned number = value_of<unsigned>("arenas.create");
  ASSERT_GE(number, arenas::most());
  EXPECT_GT(value_of<unsigned>("arenas.narenas"), number);
  const std::string arena = "arena." + std::to_string(number) + ".";
  const std::string figures = "stats.arenas." + std::to_string(number) + ".";
  EXPECT_TRUE(value_of<bool>(arena + "initialized"));
  void* small = acre_mallocx(1000, MALLOCX_ARENA(number));
  acre_mallocx(size_t{1} << 20, MALLOCX_ARENA(number));
  ASSERT_EQ(set<uint64_t>("epoch", 1), 0);
  EXPECT_GE(value_of<size_t>(figures + "pactive"), 256u);
  EXPECT_EQ(value_of<size_t>(figures + "large.allocated"), size_t{1} << 20);
  EXPECT_GE(value_of<size_t>(figures + "small.allocated"), 1000u);
  EXPECT_EQ(set<ssize_t>(arena + "dirty_decay_ms", 5), 0);
  EXPECT_EQ(value_of<ssize_t>(arena + "dirty_decay_ms"), 5);
  EXPECT_EQ(set<const char*>(arena + "name", "a name that is longer than the thirty-one characters kept"), 0);
  EXPECT_STREQ(value_of<const char*>(arena + "name"), "a name that is longer than the ");
  EXPECT_EQ(value_of<size_t>(arena + "retain_grow_limit"), SIZE_MAX);
  EXPECT_EQ(set<size_t>(arena + "retain_grow_limit", size_t{4} << 20), 0);
  EXPECT_EQ(value_of<size_t>(arena + "retain_grow_limit"), size_t{4} << 20);
  EXPECT_EQ(act(arena + "reset"), 0);
  EXPECT_EQ(acre_owns(small), 0);
  EXPECT_EQ(act(arena + "destroy"), 0);
  EXPECT_FALSE(value_of<bool>(arena + "initialized"));
  EXPECT_EQ(act(arena + "reset"), EFAULT);
  EXPECT_EQ(set<const char*>("arena.0.name", "x"), EFAULT) << "automatic arenas have none";
  EXPECT_EQ(act("arena.0.destroy"), EFAULT);
}

TEST_F(CtlFigures, HooksOfArenas) {
  static unsigned calls;
  static extent_hooks_t* original;
  calls = 0;
  size_t size = sizeof original;
  ASSERT_EQ(ctl::by_name("arena.0.extent_hooks", &original, &size, nullptr, 0), 0);
  ASSERT_NE(original, nullptr);
  extent_hooks_t hooks = *original;
  hooks.alloc = [](extent_hooks_t*, void* at, size_t bytes, size_t alignment, bool* zero, bool* commit,
                   unsigned number) {
    ++calls;
    return original->alloc(original, at, bytes, alignment, zero, commit, number);
  };
  extent_hooks_t* given = &hooks;
  unsigned number = 0;
  size = sizeof number;
  ASSERT_EQ(ctl::by_name("arenas.create", &number, &size, &given, sizeof given), 0);
  const std::string arena = "arena." + std::to_string(number) + ".";
  EXPECT_EQ(value_of<extent_hooks_t*>(arena + "extent_hooks"), &hooks);
  acre_mallocx(100, MALLOCX_ARENA(number));
  EXPECT_EQ(calls, 1u);
  EXPECT_EQ(act(arena + "destroy"), 0);

  unsigned again = 0;
  size = sizeof again;
  ASSERT_EQ(ctl::by_name("arenas.create", &again, &size, nullptr, 0), 0);
  EXPECT_EQ(again, number) << "the number is used again";
  EXPECT_EQ(set<extent_hooks_t*>(arena + "extent_hooks", &hooks), 0);
  acre_mallocx(size_t{3} << 20, MALLOCX_ARENA(number));
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(act(arena + "destroy"), 0);
  EXPECT_EQ(set<extent_hooks_t*>("arena.0.extent_hooks", &hooks), EFAULT);
  EXPECT_EQ(ctl::by_name("arenas.create", nullptr, nullptr, nullptr, 0), EINVAL);
  size = sizeof number;
  EXPECT_EQ(ctl::by_name("arenas.create", &number, &size, &given, 4), EINVAL);
}

TEST_F(CtlFigures, DecayTimes) {
  EXPECT_EQ(value_of<ssize_t>("arena.0.dirty_decay_ms"), 10000);
  EXPECT_EQ(set<ssize_t>("arena.0.dirty_decay_ms", 77), 0);
  EXPECT_EQ(value_of<ssize_t>("arena.0.dirty_decay_ms"), 77);
  EXPECT_EQ(value_of<ssize_t>("arenas.dirty_decay_ms"), 10000) << "arenas to come";
  EXPECT_EQ(set<ssize_t>("arena.0.dirty_decay_ms", -2), EFAULT);
  EXPECT_EQ(set<ssize_t>("arena.0.dirty_decay_ms", kMostMs + 1), EFAULT);
  EXPECT_EQ(set<ssize_t>("arenas.dirty_decay_ms", -2), EFAULT);
  EXPECT_EQ(value_of<ssize_t>("arena.0.dirty_decay_ms"), 77);
  ssize_t all;
  EXPECT_EQ(get("arena.4096.dirty_decay_ms", &all), EFAULT) << "they may differ";
  EXPECT_EQ(set<ssize_t>("arenas.dirty_decay_ms", 88), 0);
  EXPECT_EQ(value_of<ssize_t>("arena.0.dirty_decay_ms"), 77);
  acre_free(acre_malloc(size_t{10} << 20));
  EXPECT_EQ(set<ssize_t>("arena.4096.dirty_decay_ms", 0), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u) << "those in excess go at once";
  EXPECT_EQ(set<ssize_t>("opt.dirty_decay_ms", 10000), 0);
  EXPECT_EQ(value_of<ssize_t>("arena.0.dirty_decay_ms"), 10000) << "the option is for all arenas";
  EXPECT_EQ(value_of<ssize_t>("arenas.dirty_decay_ms"), 10000);
}

TEST_F(CtlFigures, MuzzyPages) {
  EXPECT_EQ(value_of<ssize_t>("arena.0.muzzy_decay_ms"), 0);
  EXPECT_EQ(set<ssize_t>("arena.0.muzzy_decay_ms", 7), 0);
  EXPECT_EQ(value_of<ssize_t>("stats.arenas.0.muzzy_decay_ms"), 7);
  EXPECT_EQ(value_of<ssize_t>("stats.arenas.0.dirty_decay_ms"), 10000);
  EXPECT_EQ(set<ssize_t>("arena.0.muzzy_decay_ms", -2), EFAULT);
  EXPECT_EQ(set<ssize_t>("arenas.muzzy_decay_ms", 8), 0);
  EXPECT_EQ(value_of<ssize_t>("opt.muzzy_decay_ms"), 8);
  EXPECT_EQ(value_of<ssize_t>("arena.0.muzzy_decay_ms"), 7) << "it is made already";
  EXPECT_EQ(set<ssize_t>("opt.muzzy_decay_ms", -1), 0);
  EXPECT_EQ(value_of<ssize_t>("arena.0.muzzy_decay_ms"), -1);

  EXPECT_EQ(act("arena.4096.purge"), 0);
  acre_free(acre_malloc(size_t{10} << 20));
  EXPECT_EQ(set<ssize_t>("opt.dirty_decay_ms", 0), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_GE(value_of<size_t>("stats.arenas.4096.pmuzzy"), (size_t{10} << 20) / kPageBytes);
  EXPECT_EQ(set<ssize_t>("opt.muzzy_decay_ms", 0), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pmuzzy"), 0u) << "those in excess go at once";
}

TEST_F(CtlFigures, ReleaseRate) {
  acre_free(acre_malloc(size_t{10} << 20));
  EXPECT_EQ(set<ssize_t>("opt.release_rate", 0), 0);
  EXPECT_EQ(release_rate::get(), 0);
  EXPECT_EQ(set<ssize_t>("opt.dirty_decay_ms", 0), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_GT(value_of<size_t>("stats.arenas.4096.pdirty"), 0u) << "a rate takes the place of the times";
  EXPECT_EQ(set<ssize_t>("opt.release_rate", -1), 0);
  EXPECT_EQ(act("arena.4096.decay"), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_EQ(set<ssize_t>("opt.release_rate", -2), EINVAL);
  EXPECT_EQ(release_rate::get(), -1);
}

}  // namespace
}  // namespace acre
