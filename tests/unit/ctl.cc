// control/ctl: names, MIBs, and what reading and writing answer.
#include "control/ctl.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "control/nodes.h"
#include "heap/explicit.h"
#include "control/snapshot.h"
#include "heap/registry.h"
#include "pages/release_rate.h"

namespace acre {
namespace {

template <class T>
int get(const std::string& name, T* value) {
  size_t size = sizeof *value;
  const int error = ctl::by_name(name.c_str(), value, &size, nullptr, 0);
  EXPECT_TRUE(error != 0 || size == sizeof *value) << name;
  return error;
}
template <class T>
T value_of(const std::string& name) {
  T value{};
  EXPECT_EQ(get(name, &value), 0) << name;
  return value;
}
template <class T>
int set(const std::string& name, T value) {
  return ctl::by_name(name.c_str(), nullptr, nullptr, &value, sizeof value);
}
int act(const std::string& name) { return ctl::by_name(name.c_str(), nullptr, nullptr, nullptr, 0); }

// New figures, whatever it takes to gather them.
int renew_figures() {
  for (const uint64_t before = ctl::epoch(); ctl::epoch() == before;) {
    if (const int error = set<uint64_t>("epoch", 1)) return error;
    std::this_thread::yield();
  }
  return 0;
}

std::vector<size_t> mib_of(const std::string& name, size_t room = 10) {
  std::vector<size_t> mib(room);
  EXPECT_EQ(ctl::name_to_mib(name.c_str(), mib.data(), &room), 0) << name;
  mib.resize(room);
  return mib;
}

std::string with_index(std::string name, const std::string& index) {
  for (size_t at; (at = name.find('#')) != std::string::npos;) name.replace(at, 1, index);
  return name;
}

size_t size_of(const std::string& type) {
  if (type == "bool") return sizeof(bool);
  if (type == "unsigned" || type == "uint32_t") return sizeof(unsigned);
  if (type == "void") return 0;
  return sizeof(size_t);
}

template <class Visit>
void each_node(Visit visit) {
  ctl::NodeInfo info;
  for (unsigned i = 0; ctl::node_info(i, &info); ++i) visit(info);
}

class Ctl : public testing::Test {
 protected:
  void SetUp() override { acre_free(acre_malloc(10)); }  // there is an arena
  void TearDown() override {
    EXPECT_EQ(set<ssize_t>("opt.dirty_decay_ms", 10000), 0);  // of the arenas, too
    EXPECT_EQ(set<ssize_t>("opt.muzzy_decay_ms", 0), 0);
    EXPECT_EQ(set<ssize_t>("opt.release_rate", -1), 0);
    for (unsigned i = 0; i < kOptionCount; ++i) set_option(i, kOptionTable[i].initial, OptionSource::kDefault);
  }
};

TEST_F(Ctl, EveryNodeIsFoundByNameAndByMib) {
  std::set<std::vector<size_t>> mibs;
  unsigned count = 0;
  each_node([&](const ctl::NodeInfo& info) {
    ++count;
    const std::string name = with_index(info.name, "0");
    const std::vector<size_t> mib = mib_of(name);
    EXPECT_TRUE(mibs.insert(mib).second) << name << ": another has this MIB";
    if (!info.readable || name == "arenas.create") return;  // another one each time
    char by_name[8] = {}, by_mib[8] = {};
    size_t size = size_of(info.type);
    EXPECT_EQ(ctl::by_name(name.c_str(), by_name, &size, nullptr, 0), 0) << name;
    EXPECT_EQ(ctl::by_mib(mib.data(), mib.size(), by_mib, &size, nullptr, 0), 0) << name;
    EXPECT_EQ(size, size_of(info.type)) << name;
    EXPECT_EQ(memcmp(by_name, by_mib, size), 0) << name;
  });
  EXPECT_GT(count, 50u);
  EXPECT_EQ(count, ctl::kNodes);
}

TEST_F(Ctl, WhatIsNoName) {
  for (const char* name : {"", ".", "nothing", "version.", ".version", "version.x", "stats", "stats.", "stats.arenas",
                           "stats..allocated", "arena.0", "arena..purge", "arena.x.purge", "arena.-1.purge",
                           "arena.0x0.purge", "arena.99999999999999999999999.purge", "arena.4095.purge", "arena.#.purge",
                           "arenas.bin.73.size", "arenas.lextent.16376.size", "stats.arenas.256.pactive", "opt.nothing",
                           "Version", "epoch ", "prof.gdump"}) {
    EXPECT_EQ(act(name), ENOENT) << name;
  }
}

TEST_F(Ctl, WrongSizesReadWhatFitsAndWriteNothing) {
  each_node([](const ctl::NodeInfo& info) {
    const std::string name = with_index(info.name, "0");
    if (!info.readable || name == "arenas.create") return;
    const size_t right = size_of(info.type);
    char whole[8] = {};
    size_t size = right;
    ASSERT_EQ(ctl::by_name(name.c_str(), whole, &size, nullptr, 0), 0) << name;
    char wide[16];
    memset(wide, 0x77, sizeof wide);
    size = right + 1;
    EXPECT_EQ(ctl::by_name(name.c_str(), wide, &size, nullptr, 0), EINVAL) << name;
    EXPECT_EQ(size, right) << name;
    EXPECT_EQ(memcmp(wide, whole, right), 0) << name;
    EXPECT_EQ(wide[right], 0x77) << name;
    char narrow[8];
    memset(narrow, 0x77, sizeof narrow);
    size = right - 1;
    EXPECT_EQ(ctl::by_name(name.c_str(), narrow, &size, nullptr, 0), EINVAL) << name;
    EXPECT_EQ(size, right - 1) << name;
    EXPECT_EQ(memcmp(narrow, whole, right - 1), 0) << name;
    EXPECT_EQ(narrow[right - 1], 0x77) << name;
  });
  EXPECT_EQ(ctl::by_name("opt.stats_print", nullptr, nullptr, &errno, 4), EINVAL);
  EXPECT_EQ(set("arenas.dirty_decay_ms", 5), EINVAL) << "an int";
  EXPECT_EQ(value_of<ssize_t>("arenas.dirty_decay_ms"), 10000);
}

TEST_F(Ctl, ReadOnlyNodesAndActionsTakeNoValue) {
  each_node([](const ctl::NodeInfo& info) {
    const std::string name = with_index(info.name, "0");
    size_t size = 8;
    size_t value[2] = {};
    if (info.readable && !info.writable) {
      EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, value, size_of(info.type)), EPERM) << name;
      EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, nullptr, 1), EPERM) << name;
    }
    if (info.readable) return;
    if (info.writable || size_of(info.type) != 0) return;  // orders, sinks, makers, lookups
    EXPECT_EQ(ctl::by_name(name.c_str(), value, &size, nullptr, 0), EPERM) << name;
    EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, value, 8), EPERM) << name;
    const bool needs_explicit = name == "arena.0.reset" || name == "arena.0.destroy";
    EXPECT_EQ(act(name), needs_explicit ? EFAULT : 0) << name;
  });
}

TEST_F(Ctl, WhatCanOnlyBeWrittenIsNotRead) {
  size_t lg = 12, old = 0, size = sizeof old;
  EXPECT_EQ(ctl::by_name("prof.reset", &old, &size, nullptr, 0), EPERM);
  EXPECT_EQ(ctl::by_name("prof.reset", nullptr, nullptr, &lg, 4), EINVAL);
  EXPECT_EQ(set<size_t>("prof.reset", 12), ENOENT);  // nothing was ever sampled
  EXPECT_EQ(act("prof.dump"), ENOENT);
  EXPECT_FALSE(value_of<bool>("prof.active"));
  EXPECT_EQ(set<bool>("prof.active", true), 0);
  EXPECT_TRUE(value_of<bool>("prof.active"));
  EXPECT_EQ(value_of<size_t>("prof.lg_sample"), 19u);
  EXPECT_EQ(set<size_t>("prof.reset", 12), 0);
  EXPECT_EQ(value_of<size_t>("prof.lg_sample"), 12u);
  EXPECT_EQ(set<size_t>("prof.reset", 63), EINVAL);
  EXPECT_EQ(act("prof.reset"), 0);
  EXPECT_EQ(value_of<size_t>("prof.lg_sample"), 12u);
  EXPECT_EQ(set<const char*>("prof.dump", "/nowhere/at/all.heap"), EFAULT);
  EXPECT_TRUE(value_of<bool>("thread.prof.active"));
  EXPECT_EQ(set<bool>("thread.prof.active", false), 0);
  EXPECT_FALSE(value_of<bool>("thread.prof.active"));
  EXPECT_EQ(set<bool>("thread.prof.active", true), 0);
  EXPECT_EQ(set<bool>("prof.thread_active_init", false), 0);
  std::thread([] { EXPECT_FALSE(value_of<bool>("thread.prof.active")); }).join();
  EXPECT_EQ(set<bool>("prof.thread_active_init", true), 0);
  EXPECT_EQ(set<bool>("prof.active", false), 0);
  EXPECT_FALSE(value_of<bool>("prof.active"));
}

TEST_F(Ctl, AReadableNodeMayBeLookedForOnly) {
  EXPECT_EQ(act("version"), 0);
  EXPECT_EQ(act("epoch"), 0);
}

TEST_F(Ctl, PartsOfAMib) {
  const std::vector<size_t> whole = mib_of("arenas.bin.2.size");
  ASSERT_EQ(whole.size(), 4u);
  EXPECT_EQ(whole[2], 2u);
  for (size_t room = 0; room < 4; ++room) {
    EXPECT_EQ(mib_of("arenas.bin.2.size", room), std::vector<size_t>(whole.begin(), whole.begin() + room));
  }
  EXPECT_EQ(mib_of("arenas.bin.2"), std::vector<size_t>(whole.begin(), whole.begin() + 3)) << "a name's first part";
  EXPECT_EQ(mib_of("arenas"), std::vector<size_t>(whole.begin(), whole.begin() + 1));
  size_t value, size = sizeof value;
  for (size_t length = 0; length < 4; ++length) {
    EXPECT_EQ(ctl::by_mib(whole.data(), length, &value, &size, nullptr, 0), ENOENT) << length;
  }
  std::vector<size_t> mib = whole;
  for (mib[2] = 0; mib[2] < kSmallClasses; ++mib[2]) {
    ASSERT_EQ(ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0), 0);
    EXPECT_EQ(value, size_of_class(static_cast<SizeClass>(mib[2])));
  }
  EXPECT_EQ(ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0), ENOENT) << "one beyond";
  size_t room = 4;
  EXPECT_EQ(ctl::name_to_mib("arenas.bin.73.size", mib.data(), &room), ENOENT);
  EXPECT_EQ(ctl::name_to_mib("arenas.nothing", mib.data(), &room), ENOENT);
}

TEST_F(Ctl, MibsThatAreNone) {
  const std::vector<size_t> whole = mib_of("stats.arenas.0.pactive");
  for (size_t at = 0; at < whole.size(); ++at) {
    for (size_t other : {whole[at] + 1, ctl::kNodes + size_t{0}, SIZE_MAX}) {
      std::vector<size_t> mib = whole;
      mib[at] = other;
      size_t value, size = sizeof value;
      const int error = ctl::by_mib(mib.data(), mib.size(), &value, &size, nullptr, 0);
      const bool another_node = at + 1 == whole.size() && other == whole[at] + 1;
      const bool another_arena = at == 2 && other < arenas::count();
      EXPECT_EQ(error, another_node || another_arena ? 0 : ENOENT) << at << " " << other;
    }
  }
  const std::vector<size_t> longer(6, 0);
  EXPECT_EQ(ctl::by_mib(longer.data(), longer.size(), nullptr, nullptr, nullptr, 0), ENOENT);
}

// --- What the nodes mean ------------------------------------------------------------------------------------

TEST_F(Ctl, Facts) {
  EXPECT_STREQ(value_of<const char*>("version"), ACRE_VERSION);
  EXPECT_EQ(value_of<bool>("config.debug"), ACRE_DEBUG);
  EXPECT_EQ(value_of<unsigned>("arenas.narenas"), arenas::numbers());
  EXPECT_EQ(value_of<unsigned>("opt.narenas"), arenas::most());
  EXPECT_EQ(value_of<size_t>("arenas.quantum"), 16u);
  EXPECT_EQ(value_of<size_t>("arenas.page"), 4096u);
  EXPECT_EQ(value_of<size_t>("arenas.tcache_max"), 32768u);
  EXPECT_EQ(value_of<unsigned>("arenas.nbins"), kSmallClasses);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const std::string bin = "arenas.bin." + std::to_string(c);
    EXPECT_EQ(value_of<size_t>(bin + ".size"), size_of_class(c));
    EXPECT_LE(value_of<size_t>(bin + ".size") * value_of<uint32_t>(bin + ".nregs"), value_of<size_t>(bin + ".slab_size"));
  }
}

TEST_F(Ctl, LargeSizesAreThoseOfLargeBlocks) {
  const unsigned count = value_of<unsigned>("arenas.nlextents");
  for (unsigned i : {0u, 1u, 100u, count - 1}) {
    const size_t size = value_of<size_t>("arenas.lextent." + std::to_string(i) + ".size");
    void* block = acre_malloc(size);
    EXPECT_EQ(acre_malloc_usable_size(block), size) << i;
    acre_free(block);
  }
  EXPECT_EQ(value_of<size_t>("arenas.lextent.0.size"), kSmallMax + kPageBytes);
  EXPECT_EQ(value_of<size_t>("arenas.lextent." + std::to_string(count - 1) + ".size"), size_t{64} << 20);
}

TEST_F(Ctl, EveryOptionIsANode) {
  for (unsigned i = 0; i < kOptionCount; ++i) {
    const OptionInfo& info = kOptionTable[i];
    const std::string name = std::string("opt.") + info.name;
    switch (info.type) {
      case OptionType::kBool: EXPECT_EQ(value_of<bool>(name), option_value(i) != 0); break;
      case OptionType::kPath: EXPECT_STREQ(value_of<const char*>(name), path_of(option_value(i))); break;
      case OptionType::kChoice: EXPECT_STREQ(value_of<const char*>(name), option_value_name(i, option_value(i))); break;
      default: EXPECT_EQ(value_of<ssize_t>(name), option_value(i));
    }
    if (info.type == OptionType::kNumber || info.type == OptionType::kBytes) {
      const bool changeable = info.change == Change::kAnyTime;
      EXPECT_EQ(set<ssize_t>(name, info.least), changeable ? 0 : EPERM) << name;
      EXPECT_EQ(option_value(i), changeable ? info.least : info.initial) << name;
      EXPECT_EQ(set<ssize_t>(name, info.most + 1), changeable ? EINVAL : EPERM) << name;
      EXPECT_EQ(option_value(i), changeable ? info.least : info.initial) << name;
      EXPECT_EQ(option_source(i), changeable ? OptionSource::kRunTime : OptionSource::kDefault);
    }
  }
}

TEST_F(Ctl, TheOldValueIsReadBeforeTheNewOneIsWritten) {
  bool before = true, after = true;
  size_t size = sizeof before;
  EXPECT_EQ(ctl::by_name("opt.stats_print", &before, &size, &after, sizeof after), 0);
  EXPECT_FALSE(before);
  EXPECT_TRUE(options().stats_print);
  size = 2;
  after = false;
  EXPECT_EQ(ctl::by_name("opt.stats_print", &before, &size, &after, sizeof after), EINVAL);
  EXPECT_TRUE(options().stats_print) << "nothing is written then";
}

TEST_F(Ctl, Epoch) {
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

TEST_F(Ctl, StatisticsAreThoseOfTheEpoch) {
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

TEST_F(Ctl, StatisticsAddUp) {
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

TEST_F(Ctl, TwoNumbersInAName) {
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
  for (const char* name : {".bins.73.curregs", ".bins.0", ".bins..curregs", ".bins.0.mutex", ".lextents.16376.curlextents",
                           ".extents.192.ndirty", ".bins.0.nothing", ".bins.0.curregs.x"}) {
    EXPECT_EQ(act(arena + name), ENOENT) << name;
  }
  for (void* block : blocks) acre_free(block);
  acre_free(large);
}

TEST_F(Ctl, LocksCountTheirUse) {
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

TEST_F(Ctl, ArenaOfThread) {
  const unsigned arena = value_of<unsigned>("thread.arena");
  EXPECT_LT(arena, arenas::count());
  EXPECT_EQ(arena, heap_if_any()->arena->index);
  EXPECT_TRUE(value_of<bool>("arena." + std::to_string(arena) + ".initialized"));
  EXPECT_FALSE(arenas::count() < arenas::most() &&
               value_of<bool>("arena." + std::to_string(arenas::most() - 1) + ".initialized"));
  EXPECT_EQ(act("thread.tcache.flush"), 0);
  EXPECT_EQ(heap_if_any()->kept_pages, 0u);
}

TEST_F(Ctl, PurgeAndDecay) {
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
TEST_F(Ctl, TheNumberOfArenasStandsForAllOfThem) {
  acre_free(acre_malloc(size_t{10} << 20));
  EXPECT_EQ(act("arena." + std::to_string(value_of<unsigned>("arenas.narenas")) + ".purge"), 0);
  ASSERT_EQ(renew_figures(), 0);
  EXPECT_EQ(value_of<size_t>("stats.arenas.4096.pdirty"), 0u);
  EXPECT_EQ(act("arena." + std::to_string(arenas::numbers() + 1) + ".purge"), ENOENT);
}

TEST_F(Ctl, ArenasOnPurpose) {
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

TEST_F(Ctl, HooksOfArenas) {
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

TEST_F(Ctl, DecayTimes) {
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

TEST_F(Ctl, MuzzyPages) {
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

TEST_F(Ctl, ReleaseRate) {
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

TEST_F(Ctl, BackgroundThread) {
  EXPECT_FALSE(value_of<bool>("background_thread"));
  EXPECT_FALSE(value_of<bool>("opt.background_thread"));
  EXPECT_EQ(value_of<size_t>("stats.background_thread.num_threads"), 0u);
  const auto running = [] {
    EXPECT_EQ(renew_figures(), 0);
    return value_of<size_t>("stats.background_thread.num_threads") == 1;
  };
  for (const char* name : {"background_thread", "opt.background_thread", "background_thread"}) {
    EXPECT_EQ(set<bool>(name, true), 0);
    EXPECT_TRUE(value_of<bool>("background_thread"));
    EXPECT_TRUE(running()) << "at once";
    EXPECT_EQ(set<bool>(name, true), 0);
    EXPECT_EQ(set<bool>(name, false), 0);
    EXPECT_FALSE(value_of<bool>("background_thread"));
    EXPECT_FALSE(running()) << "its end is waited for";
  }
  EXPECT_EQ(value_of<size_t>("max_background_threads"), value_of<size_t>("opt.max_background_threads"));
  EXPECT_EQ(set<bool>("background_thread", true), 0);
  EXPECT_EQ(set<size_t>("max_background_threads", kMostArenas + 1), EINVAL);
  EXPECT_EQ(set<size_t>("max_background_threads", 0), 0);
  EXPECT_FALSE(running());
  EXPECT_EQ(set<size_t>("max_background_threads", 2), 0);
  EXPECT_TRUE(running()) << "one";
  EXPECT_EQ(set<size_t>("max_background_threads", kMostArenas), 0);
  EXPECT_EQ(set<bool>("background_thread", false), 0);
}

TEST_F(Ctl, ErrnoIsLeftAlone) {
  errno = 12345;
  act("nothing");
  renew_figures();
  act("arena.4096.purge");
  EXPECT_EQ(errno, 12345);
}

}  // namespace
}  // namespace acre
