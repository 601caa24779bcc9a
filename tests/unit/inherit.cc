// cache/free_slow: runs of threads that have ended, and who frees their blocks.
#include <gtest/gtest.h>

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <vector>

#include "cache/registry.h"
#include "heap_support.h"
#include "slab/arena.h"
#include "support.h"

namespace acre {
namespace {

using test::my_heap;
using test::slab_of;

constexpr size_t kInheritedSize = 300;
constexpr SizeClass kInheritedClass = class_of_size(kInheritedSize);

// Runs it in a new thread. Such a thread allocates nothing of its own: std::thread would.
pthread_t start(const std::function<void()>& what) {
  pthread_t thread;
  const auto call = [](void* argument) -> void* {
    (*static_cast<const std::function<void()>*>(argument))();
    return nullptr;
  };
  EXPECT_EQ(pthread_create(&thread, nullptr, call, const_cast<std::function<void()>*>(&what)), 0);
  return thread;
}
void in_new_thread(const std::function<void()>& what) { pthread_join(start(what), nullptr); }

// A thread that does something, and then lives on until end().
class StayingThread {
 public:
  explicit StayingThread(std::function<void()> what) : what_(std::move(what)), thread_(start(all_)) {
    while (stage_ != kStays) sched_yield();
  }
  void end() {
    stage_ = kEnds;
    pthread_join(thread_, nullptr);
  }

 private:
  enum Stage { kBegins, kStays, kEnds };
  std::atomic<Stage> stage_{kBegins};
  const std::function<void()> what_;
  const std::function<void()> all_ = [this] {
    what_();
    stage_ = kStays;
    while (stage_ != kEnds) sched_yield();
  };
  const pthread_t thread_;
};

class InheritTest : public testing::Test {
 protected:
  InheritTest() { my_heap(); }

  void fill(size_t runs) {
    blocks_.resize(runs * run_shape(kInheritedClass).capacity);
    for (void*& block : blocks_) block = acre_malloc(kInheritedSize);
  }
  void free_all() {
    for (void* block : blocks_) acre_free(block);
    blocks_.clear();
  }
  void* pop() {
    void* block = blocks_.back();
    blocks_.pop_back();
    return block;
  }
  // Blocks of the class that the calling thread has handed to others' runs.
  static uint64_t sent() {
    my_heap().outbox().flush();
    return registry::events_of(my_heap(), kInheritedClass).remote_frees;
  }

  std::vector<void*> blocks_;
};

TEST_F(InheritTest, WhoFreesInTheRunsOfAnEndedThreadGetsThem) {
  in_new_thread([this] { fill(20); });
  in_new_thread([this] {
    my_heap();
    const uint64_t before = sent();
    free_all();
    EXPECT_EQ(sent(), before) << "the first free in each run has made the run this thread's";
  });
}

// What a thread has not given up would be the next one's that has its address, and at the same time the next one's that
// has its heap.
TEST_F(InheritTest, WhoEndsOwnsNoRunOfAClassThatItHasNotAllocatedFrom) {
  in_new_thread([this] { fill(4); });
  in_new_thread([this] {
    my_heap();
    for (size_t i = 0; i < blocks_.size(); i += 2) acre_free(blocks_[i]);
  });
  for (size_t i = 1; i < blocks_.size(); i += 2) ASSERT_EQ(slab_of(blocks_[i])->owner, kNoThread);
  std::vector<void*> left;
  for (size_t i = 1; i < blocks_.size(); i += 2) left.push_back(blocks_[i]);
  blocks_ = left;
  free_all();
}

TEST_F(InheritTest, OnlyOnceTheThreadHasEnded) {
  StayingThread thread([this] { fill(4); });
  const uint64_t before = sent();
  acre_free(pop());
  EXPECT_EQ(sent(), before + 1) << "the thread still lives";
  thread.end();
  free_all();
  EXPECT_EQ(sent(), before + 1);
}

// The thread's cache serves the next thread. The name of its life must tell the two apart.
TEST_F(InheritTest, ALaterThreadWithTheSameCacheIsNotTheOwner) {
  Heap* first = nullptr;
  in_new_thread([&] {
    fill(4);
    first = &my_heap();
  });
  Heap* second = nullptr;
  StayingThread thread([&] { second = &my_heap(); });
  EXPECT_EQ(second, first);
  const uint64_t before = sent();
  free_all();
  EXPECT_EQ(sent(), before);
  thread.end();
}

// It is left to threads that allocate.
TEST_F(InheritTest, ARunThatIsNearlyFreeStaysInItsBin) {
  in_new_thread([&] {
    fill(1);
    while (blocks_.size() > 3) acre_free(pop());
  });
  Slab* slab = slab_of(blocks_.back());
  ASSERT_EQ(load_remote(slab).state, RunState::kBinned);
  ASSERT_GT(load_remote(slab).free, slab->capacity * 3u / 4);
  const uint64_t before = sent();
  acre_free(pop());
  EXPECT_EQ(slab->owner, kNoThread);
  EXPECT_EQ(sent(), before + 1);
  free_all();
}

TEST_F(InheritTest, ARunInItsBinIsTakenOutOfIt) {
  const uint32_t capacity = run_shape(kInheritedClass).capacity;
  in_new_thread([&] {
    fill(2);
    for (uint32_t i = 0; i < capacity / 2; ++i) acre_free(pop());
  });
  Slab* slab = slab_of(blocks_.back());
  ASSERT_EQ(load_remote(slab).state, RunState::kBinned);
  const Bin* bin = bin_of(slab);
  const uint32_t count = bin->count();
  acre_free(pop());
  EXPECT_EQ(slab->owner, this_thread());
  EXPECT_EQ(bin->count(), count - 1);
  free_all();
}

// Of threads that do not exist in the child.
TEST_F(InheritTest, TheChildOfAForkInheritsFullRuns) {
  StayingThread thread([this] { fill(4); });
  const pid_t child = fork();
  if (child == 0) {
    void* block = blocks_.front();
    acre_free(block);
    _exit(slab_of(block)->owner == this_thread() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  thread.end();
  free_all();
}

// Threads that hand their blocks to the next and end: several chains at once, contents checked.
TEST_F(InheritTest, ChainsOfThreads) {
  constexpr unsigned kChains = 3, kGenerations = 30, kSlots = 500, kReplacements = 1500;
  struct Chain {
    std::vector<uint64_t*> slots = std::vector<uint64_t*>(kSlots);
    uint64_t seed = 0;
  };
  const auto live = [](Chain& chain) {
    test::Random random(++chain.seed);
    for (unsigned i = 0; i < kReplacements; ++i) {
      uint64_t*& slot = chain.slots[random.below(kSlots)];
      if (slot != nullptr) {
        const size_t words = slot[0] >> 32;
        EXPECT_EQ(slot[words - 1], slot[0] * 31) << "a block was overwritten";
      }
      acre_free(slot);
      const size_t words = random.between(2, 128);
      slot = static_cast<uint64_t*>(acre_malloc(words * 8));
      slot[0] = (words << 32) | (random.next() & 0xffffffff);
      slot[words - 1] = slot[0] * 31;
    }
  };
  std::vector<Chain> chains(kChains);
  std::vector<std::function<void()>> starters;
  for (Chain& chain : chains) {
    chain.seed = 1000 * (&chain - chains.data());
    starters.push_back([&] {
      for (unsigned i = 0; i < kGenerations; ++i) in_new_thread([&] { live(chain); });
    });
  }
  std::vector<pthread_t> threads;
  for (const std::function<void()>& each : starters) threads.push_back(start(each));
  for (const pthread_t thread : threads) pthread_join(thread, nullptr);
  for (Chain& chain : chains) {
    for (uint64_t* slot : chain.slots) acre_free(slot);
  }
}

}  // namespace
}  // namespace acre
