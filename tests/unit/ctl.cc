// control/ctl: names, MIBs, and what reading and writing answer. ctl_figures.cc has figures and arenas, ctl_thread.cc
// threads.
#include "control/ctl.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/heap.h"
#include "acre/tags.h"
#include "cache/registry.h"
#include "control/nodes.h"
#include "ctl_calls.h"
#include "manual/tags.h"
#include "pages/release_rate.h"

namespace acre {
namespace {

using test::act;
using test::get;
using test::mib_of;
using test::renew_figures;
using test::set;
using test::value_of;

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
  tags::find("the first");  // stats.tags.0
  acre_mallctl_node info;
  for (unsigned i = 0; acre_mallctl_info(i, &info) == 0; ++i) visit(info);
}

using Ctl = test::CtlTest;

TEST_F(Ctl, EveryNodeIsFoundByNameAndByMib) {
  std::set<std::vector<size_t>> mibs;
  unsigned count = 0;
  each_node([&](const acre_mallctl_node& info) {
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
  EXPECT_EQ(count, ctl::node_count());
}

TEST_F(Ctl, WhatIsNoName) {
  for (const char* name : {"", ".", "nothing", "version.", ".version", "version.x", "stats", "stats.", "stats.arenas",
                           "stats..allocated", "arena.0", "arena..purge", "arena.x.purge", "arena.-1.purge",
                           "arena.0x0.purge", "arena.99999999999999999999999.purge", "arena.4095.purge", "arena.#.purge",
                           "arenas.bin.73.size", "arenas.lextent.16413.size", "stats.arenas.256.pactive", "opt.nothing",
                           "Version", "epoch ", "prof.leak"}) {
    EXPECT_EQ(act(name), ENOENT) << name;
  }
}

TEST_F(Ctl, WrongSizesReadWhatFitsAndWriteNothing) {
  each_node([](const acre_mallctl_node& info) {
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
  each_node([](const acre_mallctl_node& info) {
    const std::string name = with_index(info.name, "0");
    size_t size = 8;
    size_t value[2] = {};
    if (info.readable && !info.writable) {
      EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, value, size_of(info.type)), EPERM) << name;
      EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, nullptr, 1), EPERM) << name;
    }
    if (info.readable || name.find("query") != std::string::npos) return;  // queries: utilization.cc
    if (info.writable || size_of(info.type) != 0) return;  // orders, sinks, makers, lookups
    EXPECT_EQ(ctl::by_name(name.c_str(), value, &size, nullptr, 0), EPERM) << name;
    EXPECT_EQ(ctl::by_name(name.c_str(), nullptr, nullptr, value, 8), EPERM) << name;
    const bool needs_manual = name == "arena.0.reset" || name == "arena.0.destroy";
    EXPECT_EQ(act(name), needs_manual ? EFAULT : 0) << name;
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
  EXPECT_EQ(set<const char*>("prof.prefix", "/nowhere/at/all"), 0);
  EXPECT_EQ(act("prof.dump"), EFAULT);
  EXPECT_EQ(set<const char*>("prof.prefix", std::string(2000, 'a').c_str()), EFAULT);
  EXPECT_EQ(set<const char*>("prof.prefix", nullptr), 0);
  EXPECT_EQ(value_of<uint64_t>("prof.interval"), 0u);
  EXPECT_EQ(value_of<ssize_t>("opt.lg_prof_interval"), -1);
  EXPECT_EQ(value_of<size_t>("opt.lg_prof_sample"), 19u);
  EXPECT_FALSE(value_of<bool>("prof.gdump"));
  EXPECT_EQ(set<bool>("prof.gdump", true), 0);
  EXPECT_TRUE(value_of<bool>("prof.gdump"));
  EXPECT_EQ(set<bool>("prof.gdump", false), 0);
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
    for (size_t other : {whole[at] + 1, ctl::node_count() + size_t{0}, SIZE_MAX}) {
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
  const unsigned last_run = count - 38;  // 64 MiB; then follow 36 powers of two, and the largest size of all
  for (unsigned i : {0u, 1u, 100u, last_run, last_run + 1, last_run + 2}) {
    const size_t size = value_of<size_t>("arenas.lextent." + std::to_string(i) + ".size");
    void* block = acre_malloc(size);
    EXPECT_EQ(acre_malloc_usable_size(block), size) << i;
    acre_free(block);
  }
  EXPECT_EQ(value_of<size_t>("arenas.lextent.0.size"), kSmallMax + kPageBytes);
  EXPECT_EQ(value_of<size_t>("arenas.lextent." + std::to_string(last_run) + ".size"), size_t{64} << 20);
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

namespace hooked {
std::vector<std::pair<const void*, size_t>> sampled, freed;
std::vector<void*> backtrace;
std::string path;
bool is_on = false;  // the vectors allocate, too

void on_sampled(const void* block, size_t size, void** frames, unsigned count, size_t usable) {
  EXPECT_EQ(size, usable);
  if (!is_on) return;
  is_on = false;
  sampled.emplace_back(block, size);
  backtrace.assign(frames, frames + count);
  is_on = true;
}
void on_freed(const void* block, size_t size) {
  if (is_on) freed.emplace_back(block, size);
}
void on_written(const char* to) { path = to; }
}  // namespace hooked

// ClickHouse logs samples by these.
TEST_F(Ctl, HooksAreToldOfSampledBlocksAndOfProfiles) {
  using Function = void (*)();
  constexpr char kSampled[] = "experimental.hooks.prof_sample", kFreed[] = "experimental.hooks.prof_sample_free",
                 kWritten[] = "experimental.hooks.prof_dump";
  for (const char* name : {kSampled, kFreed, kWritten}) EXPECT_EQ(value_of<Function>(name), nullptr);
  EXPECT_EQ(set(kSampled, reinterpret_cast<Function>(hooked::on_sampled)), 0);
  EXPECT_EQ(set(kFreed, reinterpret_cast<Function>(hooked::on_freed)), 0);
  EXPECT_EQ(set(kWritten, reinterpret_cast<Function>(hooked::on_written)), 0);
  EXPECT_EQ(value_of<Function>(kSampled), reinterpret_cast<Function>(hooked::on_sampled));
  EXPECT_EQ(set<bool>("prof.active", true), 0);
  EXPECT_EQ(set<size_t>("prof.reset", 0), 0);  // one sample in a byte: all blocks
  hooked::is_on = true;
  void* small = acre_malloc(5000);
  void* large = acre_malloc(100000);
  void* grown = acre_realloc(large, 300000);
  acre_free(small);
  acre_free(grown);
  hooked::is_on = false;
  ASSERT_EQ(hooked::sampled.size(), 3u);
  ASSERT_EQ(hooked::freed.size(), 3u);
  const auto seen = [](const void* block, size_t size) { return std::pair(block, acre_nallocx(size, 0)); };
  EXPECT_EQ(hooked::sampled[0], seen(small, 5000));
  EXPECT_EQ(hooked::sampled[1], seen(large, 100000));
  EXPECT_EQ(hooked::sampled[2], seen(grown, 300000));
  EXPECT_EQ(hooked::freed[0], seen(large, 100000)) << "a change of size is a free and an allocation";
  EXPECT_EQ(hooked::freed[1], seen(small, 5000));
  EXPECT_EQ(hooked::freed[2], seen(grown, 300000));
  EXPECT_FALSE(hooked::backtrace.empty());
  const std::string path = testing::TempDir() + "hooked.heap";
  EXPECT_EQ(set("prof.dump", path.c_str()), 0);
  EXPECT_EQ(hooked::path, path);
  unlink(path.c_str());
  for (const char* name : {kSampled, kFreed, kWritten}) EXPECT_EQ(set<Function>(name, nullptr), 0);
  EXPECT_EQ(set<size_t>("prof.reset", 19), 0);
  EXPECT_EQ(set<bool>("prof.active", false), 0);
}

// A sampled small block of a heap, or of a tag, has pages of its own.
TEST_F(Ctl, HooksAreToldTheSizeThatABlockHas) {
  using Function = void (*)();
  hooked::sampled.clear();
  hooked::freed.clear();
  EXPECT_EQ(set("experimental.hooks.prof_sample", reinterpret_cast<Function>(hooked::on_sampled)), 0);
  EXPECT_EQ(set("experimental.hooks.prof_sample_free", reinterpret_cast<Function>(hooked::on_freed)), 0);
  acre_heap_t* heap = acre_heap_create(nullptr);
  EXPECT_EQ(set<bool>("prof.active", true), 0);
  EXPECT_EQ(set<size_t>("prof.reset", 0), 0);
  hooked::is_on = true;
  EXPECT_EQ(acre_tag_push("hooked"), 0);
  void* const blocks[] = {acre_heap_malloc(heap, 100), acre_malloc(100)};
  size_t bytes[2];
  for (size_t i : {0, 1}) {
    bytes[i] = acre_malloc_usable_size(blocks[i]);
    acre_free(blocks[i]);
  }
  EXPECT_EQ(acre_tag_pop(), 0);
  hooked::is_on = false;
  ASSERT_EQ(hooked::sampled.size(), 2u);
  for (size_t i : {0, 1}) EXPECT_EQ(hooked::sampled[i], std::pair(static_cast<const void*>(blocks[i]), bytes[i]));
  EXPECT_EQ(hooked::freed, hooked::sampled);
  for (const char* name : {"experimental.hooks.prof_sample", "experimental.hooks.prof_sample_free"}) {
    EXPECT_EQ(set<Function>(name, nullptr), 0);
  }
  EXPECT_EQ(set<size_t>("prof.reset", 19), 0);
  EXPECT_EQ(set<bool>("prof.active", false), 0);
  acre_heap_destroy(heap);
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
  EXPECT_GE(value_of<uint64_t>("stats.background_thread.num_runs"), 3u);
  EXPECT_EQ(value_of<size_t>("max_background_threads"), value_of<size_t>("opt.max_background_threads"));
  EXPECT_EQ(set<bool>("background_thread", true), 0);
  while (value_of<uint64_t>("stats.background_thread.run_interval") == 0) std::this_thread::yield();
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
