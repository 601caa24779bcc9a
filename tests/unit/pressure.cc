// reclaim/pressure: when dirty pages go at once, and when the program is called. Time and the cgroup's files are the
// tests' own.
#include "reclaim/pressure.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <vector>

#include "acre/acre.h"
#include "cache/registry.h"
#include "files.h"
#include "os/cgroup.h"
#include "support.h"
#include "tables/options.h"

namespace acre {
namespace {

struct Call {
  size_t held, limit;
};
std::vector<Call> g_calls;
void* g_to_free = nullptr;

void note_call(size_t held, size_t limit, void* argument) {
  EXPECT_EQ(argument, &g_calls);
  g_calls.push_back({held, limit});
}

class Pressure : public testing::Test, protected test::MadeUpFiles {
 protected:
  void SetUp() override {
    write("/proc/self/cgroup", "0::/\n");
    write("/sys/fs/cgroup/cgroup.procs", "1\n");
    set_stall(0);
    set("dirty_decay_ms", -1);
    acre_free(acre_malloc(1));
    empty_heap(*heap_if_any());
    arenas::purge_all();
    later();
    g_calls.clear();
  }
  void TearDown() override {
    acre_on_soft_limit(nullptr, nullptr);
    set("soft_limit", 0);
    set("hard_limit", 0);
  }
  void set_stall(uint64_t us) {
    write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=" + std::to_string(us) + "\n");
  }
  // The group's limit and use: of the latter what is not acre's.
  void set_group(const std::string& file, size_t limit, size_t others) {
    write("/sys/fs/cgroup/" + file, std::to_string(limit) + "\n");
    write("/sys/fs/cgroup/memory.current", std::to_string(limit::held() + others) + "\n");
    write("/sys/fs/cgroup/memory.stat", "inactive_file 0\n");
    write("/proc/thread-self/statm", "0 " + std::to_string(limit::held() / os::page_bytes()) + " 0 0 0 0 0\n");
  }
  static void set(const std::string& option, ssize_t value) {
    ASSERT_EQ(acre_mallctl(("opt." + option).c_str(), nullptr, nullptr, &value, sizeof value), 0);
  }
  static void set_bool(const std::string& option, bool value) {
    ASSERT_EQ(acre_mallctl(("opt." + option).c_str(), nullptr, nullptr, &value, sizeof value), 0);
  }
  // A tick, a second after the one before.
  static void later(uint64_t ms = 1001) {
    static uint64_t now = os::now_ms();
    now += ms;
    pressure::on_tick(*heap_if_any(), now);
  }
  static size_t dirty() {
    size_t pages = 0;
    for (unsigned i = 0; i < arenas::count(); ++i) pages += arenas::at(i)->pages.dirty_pages();
    return pages * kPageBytes;
  }
  static void make_dirty(size_t bytes) {
    void* block = acre_malloc(bytes);
    ASSERT_NE(block, nullptr);
    acre_free(block);
  }

};

TEST_F(Pressure, WithoutAnyDirtyPagesStay) {
  make_dirty(50 * kMiB);
  for (int i = 0; i < 5; ++i) later();
  EXPECT_GE(dirty(), 50 * kMiB);
}

TEST_F(Pressure, BeyondTheCgroupsLimitLessAReserveTheyGo) {
  void* live = acre_malloc(40 * kMiB);
  make_dirty(50 * kMiB);
  set_group("memory.max", 300 * kMiB, 100 * kMiB);
  later();
  EXPECT_GE(dirty(), 50 * kMiB) << "7/8 of the limit are not reached";
  set_group("memory.max", 220 * kMiB, 100 * kMiB);  // 192.5 less the others' 100 are acre's
  later();
  EXPECT_LE(limit::held(), 93 * kMiB);
  EXPECT_GE(dirty(), 48 * kMiB) << "and no more than need be";
  set_group("memory.max", 160 * kMiB, 100 * kMiB);
  later();
  EXPECT_EQ(dirty(), 0u) << "40 are acre's";
  acre_free(live);
}

TEST_F(Pressure, MemoryHighCountsAsWell) {
  make_dirty(50 * kMiB);
  set_group("memory.high", 48 * kMiB, 0);
  later();
  EXPECT_LE(limit::held(), 45 * kMiB);
  EXPECT_GE(dirty(), 20 * kMiB);
}

TEST_F(Pressure, TheGroupsLimitMayChange) {
  make_dirty(50 * kMiB);
  set_group("memory.max", 1000 * kMiB, 0);
  later();
  EXPECT_GE(dirty(), 50 * kMiB);
  set_group("memory.max", 32 * kMiB, 0);
  later(500);
  EXPECT_GE(dirty(), 50 * kMiB) << "it is looked at once a second";
  later(600);
  EXPECT_LE(limit::held(), 28 * kMiB);
}

// Growth is not only seen when a tick happens to come: the first allocation beyond the ceiling makes one.
TEST_F(Pressure, WhoPassesTheCeilingTicksAtOnce) {
  make_dirty(50 * kMiB);
  set_group("memory.max", 100 * kMiB, 0);
  later();
  ASSERT_GE(dirty(), 50 * kMiB);
  void* block = acre_malloc(70 * kMiB);  // huge: takes no dirty pages
  EXPECT_LE(dirty(), 20 * kMiB);
  acre_free(block);
}

TEST_F(Pressure, TheOptionCgroupSwitchesItOff) {
  set_bool("cgroup", false);
  make_dirty(50 * kMiB);
  set_group("memory.max", 32 * kMiB, 0);
  later();
  EXPECT_GE(dirty(), 50 * kMiB);
  EXPECT_EQ(pressure::found().group_most, SIZE_MAX);
  set_bool("cgroup", true);
}

TEST_F(Pressure, WhileThreadsWaitForMemoryAllDirtyPagesGo) {
  make_dirty(50 * kMiB);
  set_stall(20000);  // 2 % of the time
  later();
  EXPECT_GE(dirty(), 50 * kMiB);
  set_stall(120000);
  later();
  EXPECT_EQ(dirty(), 0u);
  make_dirty(30 * kMiB);
  later(1);
  EXPECT_EQ(dirty(), 0u) << "until the next look";
  later();
  make_dirty(30 * kMiB);
  later();
  EXPECT_GE(dirty(), 30 * kMiB) << "it is over";
  set_bool("pressure", false);
  set_stall(900000);
  later();
  EXPECT_GE(dirty(), 30 * kMiB);
  set_bool("pressure", true);
}

TEST_F(Pressure, TheBackgroundThreadLooksWhileThereAreDirtyPages) {
  static uint64_t now = os::now_ms() + 1000000;
  make_dirty(50 * kMiB);
  EXPECT_EQ(pressure::look_after(now), now + pressure::kLookMs);
  set_group("memory.max", 40 * kMiB, 0);
  now += 2000;
  EXPECT_LE(pressure::look_after(now), now + pressure::kLookMs);
  EXPECT_LE(limit::held(), 35 * kMiB);
  arenas::purge_all();
  EXPECT_EQ(pressure::look_after(now), kNever);
}

// --- The soft limit ---------------------------------------------------------------------------------------------

TEST_F(Pressure, BeyondTheSoftLimitDirtyPagesGoAndTheProgramIsNotCalledForThem) {
  acre_on_soft_limit(note_call, &g_calls);
  make_dirty(50 * kMiB);
  set("soft_limit", static_cast<ssize_t>(limit::held() - 20 * kMiB));
  later(1);
  EXPECT_LE(dirty(), 30 * kMiB);
  EXPECT_GE(dirty(), 28 * kMiB);
  EXPECT_TRUE(g_calls.empty());
}

TEST_F(Pressure, ThenTheProgramIsCalled) {
  acre_on_soft_limit(note_call, &g_calls);
  const size_t soft = limit::held() + 32 * kMiB;
  set("soft_limit", static_cast<ssize_t>(soft));
  make_dirty(20 * kMiB);
  errno = 0;
  void* first = acre_malloc(40 * kMiB);
  EXPECT_EQ(errno, 0);
  ASSERT_EQ(g_calls.size(), 1u);
  EXPECT_EQ(g_calls[0].limit, soft);
  EXPECT_GT(g_calls[0].held, soft);
  EXPECT_EQ(g_calls[0].held, limit::held());
  void* second = acre_malloc(kMiB);
  EXPECT_EQ(g_calls.size(), 1u) << "not for every MiB";
  void* third = acre_malloc(10 * kMiB);
  EXPECT_EQ(g_calls.size(), 2u);
  acre_free(first);
  acre_free(second);
  acre_free(third);
  later(1);
  first = acre_malloc(40 * kMiB);
  EXPECT_EQ(g_calls.size(), 3u) << "passed anew";
  acre_free(first);
}

TEST_F(Pressure, BlocksOfRunsCountToo) {
  acre_on_soft_limit(note_call, &g_calls);
  set("soft_limit", static_cast<ssize_t>(limit::held() + 10 * kMiB));
  std::vector<void*> blocks;
  while (g_calls.empty() && blocks.size() < 100000) blocks.push_back(memset(acre_malloc(1000), 1, 1000));
  EXPECT_GE(blocks.size() * 1000, 9 * kMiB);
  EXPECT_LE(blocks.size() * 1000, 12 * kMiB);
  for (void* block : blocks) acre_free(block);
}

void free_and_allocate(size_t, size_t, void* argument) {
  auto& calls = *static_cast<int*>(argument);
  ++calls;
  errno = 12345;
  acre_free(g_to_free);
  g_to_free = nullptr;
  std::vector<void*> blocks;
  for (size_t size = 1; size < 100000; size += size / 3 + 1) {
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(acre_malloc(size));
      if (blocks.back() != nullptr) memset(blocks.back(), 7, size);
    }
  }
  for (void* block : blocks) acre_free(block);
}

TEST_F(Pressure, TheCallbackMayFreeAndAllocate) {
  int calls = 0;
  acre_on_soft_limit(free_and_allocate, &calls);
  std::vector<unsigned char*> blocks;
  for (int round = 0; round < 20; ++round) {
    g_to_free = acre_malloc(20 * kMiB);
    set("soft_limit", static_cast<ssize_t>(limit::held() + kMiB));
    for (size_t i = 0; i < 4000; ++i) {
      errno = 0;
      auto* block = static_cast<unsigned char*>(acre_malloc(16 + i % 3000));
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(errno, 0);
      memset(block, static_cast<int>(i), 16 + i % 3000);
      blocks.push_back(block);
    }
    set("soft_limit", 0);
  }
  EXPECT_GE(calls, 5);
  for (size_t i = 0; i < blocks.size(); ++i) {
    const size_t size = 16 + i % 4000 % 3000;
    ASSERT_EQ(blocks[i][0], static_cast<unsigned char>(i % 4000)) << i;
    ASSERT_EQ(blocks[i][size - 1], static_cast<unsigned char>(i % 4000)) << i;
    acre_free(blocks[i]);
  }
}

// The last chance before a request is refused.
TEST_F(Pressure, WhatTheCallbackFreesMayMakeRoomBelowTheHardLimit) {
  int calls = 0;
  void* block = acre_malloc(40 * kMiB);
  acre_on_soft_limit(free_and_allocate, &calls);
  g_to_free = acre_malloc(40 * kMiB);
  set("soft_limit", static_cast<ssize_t>(limit::held() - 10 * kMiB));
  set("hard_limit", static_cast<ssize_t>(limit::held() + 10 * kMiB));
  void* more = acre_malloc(45 * kMiB);
  EXPECT_NE(more, nullptr);
  EXPECT_GE(calls, 1);
  EXPECT_EQ(acre_malloc(45 * kMiB), nullptr) << "nothing is left to give";
  acre_free(more);
  acre_free(block);
}

}  // namespace
}  // namespace acre
