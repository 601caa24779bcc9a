// Blocks, roots and what leads where. tests/leaks has whole programs.
#include <errno.h>
#include <gtest/gtest.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#if defined(__riscv)
#include <asm/ptrace.h>  // user_regs_struct
#endif
#include <sys/user.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "acre/acre.h"
#include "base/syscall.h"
#include "leaks/blocks.h"
#include "leaks/check.h"
#include "os/os.h"
#include "os/stop.h"
#include "os/unwind.h"
#include "support.h"

namespace acre {
namespace {

using leaks::Finding;
using leaks::Request;
using leaks::Room;
using leaks::State;

void* volatile g_kept;
uintptr_t g_hidden;

uintptr_t hide(const void* p) { return ~address_of(p); }

__attribute__((noinline)) void wipe() {
  char below[32768];
  memset(below, 0, sizeof below);
  asm volatile("" ::"r"(below) : "memory");  // or the compiler may leave out what nobody reads
}
__attribute__((noinline)) void lose(size_t bytes) { g_hidden = hide(acre_malloc(bytes)); }
__attribute__((noinline)) void keep(size_t bytes) { g_kept = acre_malloc(bytes); }

__attribute__((noinline)) bool ignore_hidden() { return leaks::ignore_block(~g_hidden); }
__attribute__((noinline)) bool heed_hidden() { return leaks::heed_block(~g_hidden); }

// What is at the start of acre's memory, whose address is in a variable of acre's, which here are the program's.
[[maybe_unused]] void* volatile const kFirstBlock = acre_malloc(100);

// Blocks that a check takes for leaked, among those of all tests in this process.
uint64_t leaked(LeakMode mode = LeakMode::kNormal) {
  // Blocks from here on lie so far up that a small number over the lower half of an old pointer leads to none of them.
  [[maybe_unused]] static void* volatile const filler = acre_malloc(size_t{30} << 20);
  Request request;
  request.mode = mode;
  Finding finding;
  EXPECT_EQ(leaks::check(request, &finding), 0);
  return finding.leaked_blocks;
}

TEST(Leaks, BlocksAreFoundFromWithin) {
  for (const size_t bytes : {size_t{1}, size_t{100}, size_t{5000}, size_t{100000}, size_t{100} << 20}) {
    auto* block = static_cast<char*>(acre_malloc(bytes));
    void* freed = acre_malloc(bytes);
    acre_free(freed);
    Room room;
    leaks::Blocks blocks;
    ASSERT_TRUE(blocks.fill(room));
    const size_t number = blocks.find(address_of(block));
    ASSERT_NE(number, leaks::Blocks::kNone);
    EXPECT_EQ(blocks.find(address_of(block + bytes - 1)), number);
    EXPECT_NE(blocks.find(address_of(block + acre_malloc_usable_size(block))), number);
    EXPECT_EQ(blocks.at(number).start, address_of(block));
    EXPECT_EQ(blocks.at(number).bytes, acre_malloc_usable_size(block));
    EXPECT_EQ(blocks.state(number), State::kLive);
    EXPECT_EQ(blocks.find(address_of(freed)), leaks::Blocks::kNone);
    EXPECT_EQ(blocks.find(address_of(&room)), leaks::Blocks::kNone);
    acre_free(block);
  }
}

TEST(Leaks, RangesAreSortedAndJoined) {
  Room room;
  leaks::Ranges ranges;
  ASSERT_TRUE(ranges.prepare(room, 200));
  test::Random random(7);
  ranges.add(10, 20);
  ranges.add(20, 30);
  EXPECT_EQ(ranges.count(), 1u);
  ranges.add(50, 50);
  EXPECT_EQ(ranges.count(), 1u);
  while (ranges.count() < 200) {
    const Address start = 1000 + 16 * random.below(100000);
    ranges.add(start, start + 8);
  }
  EXPECT_TRUE(ranges.is_whole());
  ranges.sort();
  for (const leaks::Range* range = ranges.begin(); range + 1 != ranges.end(); ++range) {
    ASSERT_LE(range[0].start, range[1].start);
  }
  ranges.add(5, 7);
  EXPECT_FALSE(ranges.is_whole());
}

TEST(Leaks, HiddenBlocksLeakAndKeptOnesDoNot) {
  const uint64_t before = leaked();
  keep(300);
  wipe();
  EXPECT_EQ(leaked(), before);
  lose(300);
  wipe();
  EXPECT_EQ(leaked(), before + 1);
  lose(1 << 20);
  wipe();
  EXPECT_EQ(leaked(), before + 2);
  acre_free(g_kept);
}

TEST(Leaks, IgnoredBlocksDoNotLeak) {
  const uint64_t before = leaked(), all_before = leaked(LeakMode::kDraconian);
  lose(300);
  wipe();
  ASSERT_TRUE(ignore_hidden());
  EXPECT_EQ(leaked(), before);
  EXPECT_EQ(leaked(LeakMode::kDraconian), all_before);
  EXPECT_TRUE(heed_hidden());
  EXPECT_FALSE(heed_hidden());
  wipe();
  EXPECT_EQ(leaked(), before + 1);
  EXPECT_EQ(leaked(LeakMode::kDraconian), all_before + 1);
}

TEST(Leaks, WhatIsLeftOutIsNoRoot) {
  const uint64_t before = leaked();
  keep(300);
  wipe();
  ASSERT_TRUE(leaks::leave_out(address_of(const_cast<void**>(&g_kept)), sizeof g_kept));
  EXPECT_EQ(leaked(), before + 1);
  EXPECT_TRUE(leaks::take_in(address_of(const_cast<void**>(&g_kept))));
  EXPECT_EQ(leaked(), before);
  acre_free(g_kept);
}

// Whatever is refused, the check says so, or does without.
TEST(Leaks, RefusedMemoryIsAnError) {
  bool refused = false;
  for (long allowed = 0; allowed < 12; ++allowed) {
    Finding finding;
    os::testing::refuse_requests(allowed, 1000);
    const int error = leaks::check(Request{}, &finding);
    os::testing::refuse_nothing();
    ASSERT_TRUE(error == 0 || error == EAGAIN) << error;
    refused |= error == EAGAIN;
    if (error == 0) break;
    ASSERT_LT(allowed, 11);
  }
  EXPECT_TRUE(refused);
}

std::atomic<uint64_t> g_turns{0};
std::atomic<bool> g_end{false};

void* turn(void*) {
  while (!g_end.load()) g_turns.fetch_add(1);
  return nullptr;
}

struct SeenLeaks {
  unsigned stopped = 0;
  bool stood = false;
};

TEST(Leaks, OtherThreadsStandStillMeanwhile) {
  pthread_t threads[3];
  for (pthread_t& thread : threads) ASSERT_EQ(pthread_create(&thread, nullptr, turn, nullptr), 0);
  while (g_turns.load() < 1000) std::this_thread::yield();
  SeenLeaks seen;
  const auto work = [](const os::Threads& all, void* argument) {
    auto& to = *static_cast<SeenLeaks*>(argument);
    to.stopped = all.count;
    const uint64_t turns = g_turns.load();
    for (int i = 0; i < 1000; ++i) std::this_thread::yield();
    to.stood = g_turns.load() == turns;
  };
  ASSERT_EQ(os::with_threads_stopped(work, &seen), os::Stopped::kDone);
  EXPECT_GE(seen.stopped, 4u);
  EXPECT_TRUE(seen.stood);
  const uint64_t turns = g_turns.load();
  while (g_turns.load() == turns) std::this_thread::yield();  // they go on
  g_end.store(true);
  for (pthread_t& thread : threads) pthread_join(thread, nullptr);
}

// --- Threads that are stopped in acre's code: here what lies in this section. ---------------------------------------

#define OWN_CODE __attribute__((section("acre_own_code"), noinline))
std::atomic<uint32_t> g_gate{0};

struct Inside {
  unsigned threads = 0;  // that have stood still in acre's code
};

bool is_in_own_code(const os::ThreadState& thread) {
  struct user_regs_struct general;
  memcpy(&general, thread.word, sizeof general);
#if defined(__x86_64__)
  return os::is_own_code(general.rip);
#else
  return os::is_own_code(general.pc);
#endif
}

unsigned threads_stopped_inside() {
  Inside seen;
  const auto work = [](const os::Threads& all, void* argument) {
    for (unsigned i = 1; i < all.count; ++i) static_cast<Inside*>(argument)->threads += is_in_own_code(all.thread[i]);
  };
  EXPECT_EQ(os::with_threads_stopped(work, &seen), os::Stopped::kDone);
  return seen.threads;
}

template <class Outside>
void run_until_end(void (*inside)(), Outside outside) {
  g_turns.store(0);
  g_end.store(false);
  std::thread thread([inside] {
    while (!g_end.load()) {
      inside();
      g_turns.fetch_add(1);
    }
  });
  outside(thread.native_handle());
  g_end.store(true);
  thread.join();
}

// Some 600 instructions, of which nobody sees one done but not all.
OWN_CODE void count_to_200() {
  for (int i = 0; i < 200; ++i) asm volatile("" : "+r"(i));
}
OWN_CODE void spin_until_open() {
  while (g_gate.load() == 0) g_turns.store(1);
}
OWN_CODE void sleep_until_open() {
  g_turns.store(1);
  while (g_gate.load() == 0) {
    raw_syscall(SYS_futex, reinterpret_cast<long>(&g_gate), FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0);
  }
}

void wait_for_turn() {
  while (g_turns.load() == 0) std::this_thread::yield();
}

TEST(Leaks, ThreadsLeaveAcresCodeBeforeTheyAreLookedAt) {
  run_until_end(count_to_200, [](pthread_t) {
    for (int i = 0; i < 50; ++i) EXPECT_EQ(threads_stopped_inside(), 0u);
    wait_for_turn();
  });
}

TEST(Leaks, ThreadsThatWaitInAcresCodeStayThere) {
  for (void (*const waits)() : {spin_until_open, sleep_until_open}) {
    g_gate.store(0);
    run_until_end(waits, [](pthread_t) {
      wait_for_turn();
      EXPECT_EQ(threads_stopped_inside(), 1u);
      g_gate.store(1);
      os::wake(g_gate);
    });
  }
}

std::atomic<int> g_signals{0};
std::atomic<int> g_traps{0};

// Neither a signal, nor the thread's mask, nor the process's handler for the trap after a step.
TEST(Leaks, StepsLeaveSignalsAsTheyAre) {
  struct sigaction count = {}, count_traps = {}, signals_before, traps_before;
  count.sa_handler = [](int) { g_signals.fetch_add(1); };
  count_traps.sa_handler = [](int) { g_traps.fetch_add(1); };
  sigaction(SIGUSR1, &count, &signals_before);
  sigaction(SIGTRAP, &count_traps, &traps_before);
  sigset_t trap, before;
  sigemptyset(&trap);
  sigaddset(&trap, SIGTRAP);
  pthread_sigmask(SIG_BLOCK, &trap, &before);  // the new thread inherits that
  run_until_end(count_to_200, [&](pthread_t thread) {
    wait_for_turn();
    pthread_kill(thread, SIGTRAP);  // pending while the thread is stepped
    for (int sent = 1; sent <= 50; ++sent) {
      pthread_kill(thread, SIGUSR1);
      threads_stopped_inside();
      while (g_signals.load() < sent) std::this_thread::yield();
    }
    EXPECT_EQ(g_signals.load(), 50);
    EXPECT_EQ(g_traps.load(), 0);
  });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  sigaction(SIGUSR1, &signals_before, nullptr);
  struct sigaction kept;
  sigaction(SIGTRAP, &traps_before, &kept);
  EXPECT_EQ(kept.sa_handler, count_traps.sa_handler);
}

TEST(Leaks, AFaultEndsTheHelperAlone) {
  void* refused = os::reserve(os::page_bytes());
  const auto work = [](const os::Threads&, void* argument) { *static_cast<volatile int*>(argument) = 1; };
  EXPECT_EQ(os::with_threads_stopped(work, refused), os::Stopped::kDied);
  os::unmap(refused, os::page_bytes());
}

}  // namespace
}  // namespace acre
