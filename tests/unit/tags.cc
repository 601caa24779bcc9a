// manual/tags: accounting by tag.
#include "manual/tags.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <barrier>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/heap.h"
#include "acre/jemalloc.h"
#include "acre/tags.h"
#include "cache/heap.h"
#include "sample/profile.h"
#include "support.h"

namespace acre {
namespace {

// A tag for one test.
class Tags : public testing::Test {
 protected:
  ~Tags() override {
    EXPECT_EQ(acre_tag_in_force(), nullptr);
    acre_tag_drop(tag);
  }
  acre_tag_info info() const { return info_of(tag); }
  static acre_tag_info info_of(const acre_tag_t* of) {
    acre_tag_info info = {};
    EXPECT_EQ(acre_tag_get(of, &info), 0);
    return info;
  }
  static bool is_listed(const acre_tag_t* wanted) {
    for (acre_tag_t* at = acre_tag_next(nullptr); at != nullptr; at = acre_tag_next(at)) {
      if (at == wanted) return true;
    }
    return false;
  }

  acre_tag_t* tag = acre_tag("test");
};

struct Scope {
  explicit Scope(acre_tag_t* tag) { EXPECT_EQ(acre_tag_enter(tag), 0); }
  ~Scope() { EXPECT_EQ(acre_tag_pop(), 0); }
};

// A sampled small block has pages of its own, which count. If they do not fit, the block is as others.
TEST_F(Tags, SampledBlocksKeepToTheLimit) {
  constexpr size_t kLimit = 10000;
  ASSERT_TRUE(profile::prepare(0));
  profile::reset(0);
  profile::set_active(true);
  acre_tag_limit(tag, kLimit);
  std::vector<void*> blocks;
  blocks.reserve(kLimit);
  {
    Scope scope(tag);
    while (void* p = acre_malloc(100)) {
      blocks.push_back(p);
      ASSERT_LE(info().live, kLimit);
    }
  }
  profile::set_active(false);
  EXPECT_EQ(acre_malloc_usable_size(blocks.front()), size_t{4096});
  EXPECT_EQ(acre_malloc_usable_size(blocks.back()), size_t{112});
  EXPECT_GT(info().live, kLimit - 112);
  for (void* p : blocks) acre_free(p);
  EXPECT_EQ(info().live, 0u);
}

constexpr size_t kTagSizes[] = {0,    1,     8,     100,    1000,            1024,            1025,
                                5000, 32768, 32769, 100000, size_t{5} << 20, size_t{70} << 20};

TEST_F(Tags, BlocksOfAllSizesCountUntilTheyAreFreed) {
  std::vector<void*> blocks;
  uint64_t bytes = 0;
  {
    Scope scope(tag);
    for (size_t n : kTagSizes) {
      for (size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, size_t{4} << 20}) {
        void* p = alignment == 1 ? acre_malloc(n) : acre_aligned_alloc(alignment, n);
        ASSERT_NE(p, nullptr) << n;
        EXPECT_EQ(acre_tag_of(p), tag) << n;
        EXPECT_TRUE(is_aligned(address_of(p), alignment));
        memset(p, 0x5a, n);
        bytes += acre_malloc_usable_size(p);
        EXPECT_EQ(info().live, bytes) << n << " at " << alignment;
        blocks.push_back(p);
      }
    }
  }
  EXPECT_EQ(info().allocated, bytes);
  EXPECT_EQ(info().peak, bytes);
  void* outside = acre_malloc(100);
  EXPECT_EQ(acre_tag_of(outside), nullptr);
  acre_free(outside);
  for (void* p : blocks) {
    bytes -= acre_malloc_usable_size(p);
    acre_free(p);
    EXPECT_EQ(info().live, bytes);
  }
  EXPECT_EQ(info().live, 0u);
}

TEST_F(Tags, ZeroedBlocksAreZero) {
  Scope scope(tag);
  for (int round = 0; round < 2; ++round) {
    for (size_t n : kTagSizes) {
      void* p = acre_calloc(1, n);
      EXPECT_TRUE(test::all_zero(p, n)) << n;
      memset(p, 0xff, n);
      acre_free(p);
    }
  }
}

TEST_F(Tags, BlocksOfTheThreadFromBeforeAreAsTheyWere) {
  std::vector<void*> before;
  for (int i = 0; i < 1000; ++i) before.push_back(acre_malloc(48));
  for (int i = 0; i < 1000; i += 2) acre_free(before[static_cast<size_t>(i)]);
  {
    Scope scope(tag);
    for (int i = 1; i < 1000; i += 2) acre_free(before[static_cast<size_t>(i)]);
    EXPECT_EQ(info().live, 0u);
    EXPECT_EQ(info().allocated, 0u);
  }
  for (void*& p : before) p = acre_malloc(48);
  for (void* p : before) EXPECT_EQ(acre_tag_of(p), nullptr);
  for (void* p : before) acre_free(p);
  EXPECT_EQ(info().allocated, 0u);
}

TEST_F(Tags, TheInnermostCounts) {
  acre_tag_t* inner = acre_tag("inner");
  void *first, *second, *third, *fourth;
  {
    Scope scope(tag);
    first = acre_malloc(100);
    {
      Scope within(inner);
      EXPECT_EQ(acre_tag_in_force(), inner);
      second = acre_malloc(100);
      {
        Scope none(nullptr);
        EXPECT_EQ(acre_tag_in_force(), nullptr);
        third = acre_malloc(100);
      }
    }
    EXPECT_EQ(acre_tag_in_force(), tag);
    fourth = acre_malloc(100);
  }
  EXPECT_EQ(acre_tag_of(first), tag);
  EXPECT_EQ(acre_tag_of(second), inner);
  EXPECT_EQ(acre_tag_of(third), nullptr);
  EXPECT_EQ(acre_tag_of(fourth), tag);
  EXPECT_EQ(info().live, 2 * acre_malloc_usable_size(first));
  EXPECT_EQ(info_of(inner).live, acre_malloc_usable_size(second));
  for (void* p : {first, second, third, fourth}) acre_free(p);
  acre_tag_drop(inner);
}

TEST_F(Tags, PushesTooDeepArePoppedAllTheSame) {
  acre_tag_t* inner = acre_tag("inner");
  for (int i = 0; i < 64; ++i) EXPECT_EQ(acre_tag_enter(tag), 0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(acre_tag_enter(inner), EAGAIN);
    EXPECT_EQ(acre_tag_in_force(), tag);
  }
  EXPECT_EQ(acre_tag_push(""), EINVAL);
  for (int i = 0; i < 75; ++i) EXPECT_EQ(acre_tag_pop(), 0);
  EXPECT_EQ(acre_tag_pop(), EINVAL);
  acre_tag_drop(inner);
  EXPECT_FALSE(is_listed(inner));
}

TEST_F(Tags, AWrongNameChangesNothing) {
  Scope scope(tag);
  const std::string longest(63, 'n'), too_long(64, 'n');
  EXPECT_EQ(acre_tag_push(too_long.c_str()), EINVAL);
  EXPECT_EQ(acre_tag_in_force(), tag);
  EXPECT_EQ(acre_tag_pop(), 0);
  EXPECT_EQ(acre_tag_in_force(), tag);
  EXPECT_EQ(acre_tag_push(longest.c_str()), 0);
  EXPECT_EQ(info_of(acre_tag_in_force()).name, longest);
  acre_tag_drop(acre_tag_in_force());
  EXPECT_EQ(acre_tag_pop(), 0);
  EXPECT_EQ(acre_tag(nullptr), nullptr);
  EXPECT_EQ(errno, EINVAL);
}

TEST_F(Tags, AnyThreadMayFree) {
  std::vector<void*> blocks;
  {
    Scope scope(tag);
    for (size_t n : kTagSizes) {
      for (int i = 0; i < 50 && n < 100000; ++i) blocks.push_back(acre_malloc(n));
    }
  }
  EXPECT_NE(info().live, 0u);
  std::thread([&] {
    acre_tag_push("of another");
    for (void* p : blocks) acre_free(p);
    EXPECT_EQ(info_of(acre_tag_in_force()).allocated, 0u);
    acre_tag_drop(acre_tag_in_force());
  }).join();  // without a pop
  EXPECT_EQ(info().live, 0u);
}

TEST_F(Tags, ReallocKeepsTheTag) {
  acre_tag_t* other = acre_tag("other");
  void* p;
  {
    Scope scope(tag);
    p = acre_malloc(10);
    memcpy(p, "contents", 9);
  }
  for (acre_tag_t* in_force : {other, static_cast<acre_tag_t*>(nullptr)}) {
    Scope scope(in_force);
    for (size_t n : {size_t{100}, size_t{50000}, size_t{60000}, size_t{20} << 20, size_t{200} << 20, size_t{80} << 20,
                     size_t{5} << 20, size_t{4} << 20, size_t{33} << 10, size_t{10}}) {
      p = acre_realloc(p, n);
      ASSERT_NE(p, nullptr);
      EXPECT_STREQ(static_cast<char*>(p), "contents");
      EXPECT_EQ(acre_tag_of(p), tag) << n;
      EXPECT_EQ(info().live, acre_malloc_usable_size(p)) << n;
      p = acre_rallocx(p, n + 1000, MALLOCX_ALIGN(64));
      EXPECT_EQ(acre_tag_of(p), tag) << n;
      EXPECT_EQ(info().live, acre_malloc_usable_size(p)) << n;
    }
  }
  EXPECT_EQ(info_of(other).allocated, 0u);
  acre_free(p);
  EXPECT_EQ(info().live, 0u);

  p = acre_malloc(10);
  Scope scope(tag);
  p = acre_realloc(p, 11);
  EXPECT_EQ(acre_tag_of(p), nullptr) << "it did not move";
  p = acre_realloc(p, 5000);
  EXPECT_EQ(acre_tag_of(p), tag) << "a new block";
  acre_free(p);
  acre_tag_drop(other);
}

TEST_F(Tags, HeapsAndChosenArenasCountForThemselves) {
  acre_heap_t* heap = acre_heap_create(nullptr);
  Scope scope(tag);
  void* of_heap = acre_heap_malloc(heap, 100);
  void* of_arena = acre_mallocx(100, MALLOCX_ARENA(0));
  EXPECT_EQ(acre_tag_of(of_heap), nullptr);
  EXPECT_EQ(acre_tag_of(of_arena), nullptr);
  EXPECT_EQ(info().allocated, 0u);
  void* p = acre_malloc(100);
  EXPECT_EQ(acre_heap_of(p), nullptr);
  acre_free(p);
  acre_free(of_arena);
  acre_heap_destroy(heap);
}

TEST_F(Tags, TheLimitIsExact) {
  Scope scope(tag);
  const size_t one = acre_malloc_usable_size(acre_malloc(100));
  acre_tag_limit(tag, 10 * one);
  std::vector<void*> blocks;
  for (;;) {
    errno = 0;
    void* p = acre_malloc(100);
    if (p == nullptr) break;
    blocks.push_back(p);
  }
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(blocks.size(), 9u);
  EXPECT_EQ(info().live, 10 * one);
  EXPECT_EQ(info().refused, 1u);
  EXPECT_EQ(acre_malloc(100000), nullptr);
  EXPECT_EQ(acre_malloc(size_t{100} << 20), nullptr);
  EXPECT_EQ(acre_calloc(1, 10), nullptr);
  EXPECT_EQ(acre_aligned_alloc(4096, 8192), nullptr);
  EXPECT_EQ(acre_realloc(blocks.back(), 1000), nullptr);
  EXPECT_EQ(info().refused, 6u);
  EXPECT_EQ(info().live, 10 * one);
  acre_free(blocks.back());
  blocks.back() = acre_malloc(100);
  EXPECT_NE(blocks.back(), nullptr);
  {
    Scope none(nullptr);
    void* p = acre_malloc(100);
    EXPECT_NE(p, nullptr);
    acre_free(p);
  }
  acre_tag_limit(tag, 0);
  EXPECT_EQ(info().live, 10 * one) << "nothing is taken away";
  acre_tag_limit(tag, SIZE_MAX);
  EXPECT_EQ(info().limit, UINT64_MAX);
  for (void* p : blocks) acre_free(p);
  EXPECT_EQ(info().live, one);
}

TEST_F(Tags, LargeBlocksGrowWithinTheLimit) {
  Scope scope(tag);
  acre_tag_limit(tag, size_t{10} << 20);
  void* p = acre_malloc(size_t{1} << 20);
  p = acre_realloc(p, size_t{9} << 20);
  ASSERT_NE(p, nullptr);
  EXPECT_EQ(acre_realloc(p, size_t{11} << 20), nullptr);
  EXPECT_EQ(info().live, size_t{9} << 20);
  p = acre_realloc(p, size_t{2} << 20);
  EXPECT_EQ(info().live, size_t{2} << 20);
  EXPECT_GE(info().peak, size_t{9} << 20);
  EXPECT_LE(info().peak, size_t{10} << 20) << "both blocks, if it had to be copied";
  acre_free(p);
}

struct Cache {
  std::vector<void*> blocks;
  int calls = 0;
  acre_tag_t* called_for = nullptr;
  size_t wanted = 0;
};

int drop_one(acre_tag_t* tag, size_t wanted, void* argument) {
  Cache& cache = *static_cast<Cache*>(argument);
  ++cache.calls;
  cache.called_for = tag;
  cache.wanted = wanted;
  void* inner = acre_malloc(1 << 20);  // refused without a call
  EXPECT_EQ(inner, nullptr);
  if (cache.blocks.empty()) return 0;
  acre_free(cache.blocks.back());
  cache.blocks.pop_back();
  return 1;
}

TEST_F(Tags, TheProgramIsCalledAtTheLimit) {
  Cache cache;
  cache.blocks.reserve(100);
  Scope scope(tag);
  for (int i = 0; i < 4; ++i) cache.blocks.push_back(acre_malloc(1000));
  const size_t one = acre_malloc_usable_size(cache.blocks[0]);
  acre_tag_limit(tag, 4 * one);
  acre_tag_on_limit(tag, drop_one, &cache);
  void* p = acre_malloc(2 * one);
  EXPECT_NE(p, nullptr);
  EXPECT_EQ(cache.calls, 2);
  EXPECT_EQ(cache.called_for, tag);
  EXPECT_EQ(cache.wanted, acre_malloc_usable_size(p));
  EXPECT_EQ(info().refused, 2u) << "those of the function";
  errno = 0;
  EXPECT_EQ(acre_malloc(4 * one), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(cache.calls, 5);
  acre_tag_on_limit(tag, nullptr, nullptr);
  acre_free(p);
  EXPECT_EQ(info().live, 0u);
}

int raise_limit(acre_tag_t* tag, size_t wanted, void*) {
  acre_tag_limit(tag, wanted);
  return 1;
}

TEST_F(Tags, TheFunctionMayRaiseTheLimit) {
  acre_tag_limit(tag, 0);
  acre_tag_on_limit(tag, raise_limit, nullptr);
  Scope scope(tag);
  void* p = acre_malloc(100000);
  EXPECT_NE(p, nullptr);
  acre_free(p);
}

TEST_F(Tags, NamesLeadToTags) {
  EXPECT_EQ(acre_tag("test"), tag);
  acre_tag_t* other = acre_tag("another");
  EXPECT_NE(other, tag);
  EXPECT_TRUE(is_listed(tag) && is_listed(other));
  EXPECT_EQ(acre_tag_push("another"), 0);
  EXPECT_EQ(acre_tag_in_force(), other);
  EXPECT_EQ(acre_tag_pop(), 0);
  acre_tag_drop(other);
}

TEST_F(Tags, ADroppedTagGoesWithItsLastBlock) {
  acre_tag_t* passing = acre_tag("passing");
  void* p;
  {
    Scope scope(passing);
    p = acre_malloc(100);
    acre_tag_drop(passing);
    acre_tag_drop(passing);
    EXPECT_NE(acre_tag("passing"), passing) << "the name is free";
    acre_tag_drop(acre_tag("passing"));
  }
  EXPECT_TRUE(is_listed(passing));
  acre_free(p);
  EXPECT_FALSE(is_listed(passing));
  acre_tag_info info;
  EXPECT_EQ(acre_tag_get(passing, &info), ESRCH);
}

TEST_F(Tags, ThousandsOfTagsAtATimeAndOneAfterTheOther) {
  constexpr int kTags = 5000;
  std::vector<acre_tag_t*> handles;
  std::vector<void*> blocks;
  const size_t before = metadata::allocated_bytes();
  for (int i = 0; i < kTags; ++i) {
    const std::string name = "query " + std::to_string(i);
    EXPECT_EQ(acre_tag_push(name.c_str()), 0);
    blocks.push_back(acre_malloc(static_cast<size_t>(i % 700)));
    handles.push_back(acre_tag_in_force());
    EXPECT_EQ(acre_tag_pop(), 0);
  }
  EXPECT_LE(metadata::allocated_bytes() - before, kTags * size_t{512} + (size_t{1} << 20));
  for (size_t i = 0; i < kTags; ++i) {
    EXPECT_EQ(acre_tag_of(blocks[i]), handles[i]);
    EXPECT_EQ(info_of(handles[i]).live, acre_malloc_usable_size(blocks[i]));
    acre_free(blocks[i]);
    acre_tag_drop(handles[i]);
  }
  const size_t after = metadata::allocated_bytes();
  for (int i = 0; i < 100000; ++i) {
    const std::string name = "passing " + std::to_string(i);
    EXPECT_EQ(acre_tag_push(name.c_str()), 0);
    acre_tag_t* handle = acre_tag_in_force();
    acre_free(acre_malloc(100));
    EXPECT_EQ(acre_tag_pop(), 0);
    acre_tag_drop(handle);
  }
  EXPECT_EQ(metadata::allocated_bytes(), after) << "tags are used again";
}

TEST_F(Tags, ManyTagsShareRuns) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(acre_tag_push(("share " + std::to_string(i)).c_str()), 0);
    blocks.push_back(acre_malloc(64));
    acre_tag_drop(acre_tag_in_force());
    EXPECT_EQ(acre_tag_pop(), 0);
  }
  size_t runs = 0;
  const PageRun* last = nullptr;
  for (void* p : blocks) {
    const PageRun* run = find_block(p).slab->run;
    runs += run != last;
    last = run;
  }
  EXPECT_LE(runs, 8u);
  for (void* p : blocks) acre_free(p);
}

TEST_F(Tags, TheTagStaysWhileTheThreadsCacheIsOff) {
  Scope scope(tag);
  bool on = false;
  EXPECT_EQ(acre_mallctl("thread.tcache.enabled", nullptr, nullptr, &on, sizeof on), 0);
  void* p = acre_malloc(100);
  EXPECT_EQ(acre_tag_of(p), tag);
  EXPECT_EQ(acre_tag_enter(nullptr), 0);
  void* untagged = acre_malloc(100);
  EXPECT_EQ(acre_tag_of(untagged), nullptr);
  EXPECT_EQ(acre_tag_pop(), 0);
  on = true;
  EXPECT_EQ(acre_mallctl("thread.tcache.enabled", nullptr, nullptr, &on, sizeof on), 0);
  void* large = acre_malloc(100000);
  EXPECT_EQ(acre_tag_of(large), tag);
  for (void* each : {p, untagged, large}) acre_free(each);
  EXPECT_EQ(info().live, 0u);
}

TEST_F(Tags, ThreadsThatEndLeaveNoTagInForce) {
  acre_tag_t* passing = acre_tag("of a thread");
  for (int i = 0; i < 3; ++i) {
    std::thread([&] {
      acre_tag_enter(passing);
      acre_tag_enter(passing);
      acre_free(acre_malloc(10));
    }).join();
  }
  acre_tag_drop(passing);
  EXPECT_FALSE(is_listed(passing));
}

TEST_F(Tags, AChildOfAForkHasItsThreadsTags) {
  acre_tag_t* of_other = acre_tag("of another thread");
  std::barrier ready(2), done(2);
  std::thread other([&] {
    acre_tag_enter(of_other);
    ready.arrive_and_wait();
    done.arrive_and_wait();
    acre_tag_pop();
  });
  ready.arrive_and_wait();
  Scope scope(tag);
  void* p = acre_malloc(100);
  const pid_t pid = fork();
  if (pid == 0) {
    acre_tag_drop(of_other);
    void* more = acre_malloc(100);
    const bool good = !is_listed(of_other) && acre_tag_in_force() == tag && acre_tag_of(more) == tag &&
                      info().live == 2 * acre_malloc_usable_size(p);
    acre_free(p);
    acre_free(more);
    _exit(good && info().live == 0 && acre_tag_pop() == 0 && acre_tag_pop() == EINVAL ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(info().live, acre_malloc_usable_size(p));
  acre_free(p);
  done.arrive_and_wait();
  other.join();
  acre_tag_drop(of_other);
}

// What each thread may reckon for itself, all may together; and the limit holds in each moment.
TEST_F(Tags, ThreadsShareATagAndItsLimit) {
  constexpr int kThreads = 4;
  constexpr uint64_t kLimit = 200000;
  std::atomic<void*> slots[64] = {};
  acre_tag_limit(tag, kLimit);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(static_cast<uint64_t>(t) + 1);
      for (int i = 0; i < 20000; ++i) {
        if (random.one_in(10)) acre_tag_enter(nullptr), acre_tag_pop();
        acre_tag_enter(tag);
        void* p = acre_malloc(random.one_in(100) ? 40000 : random.below(5000));
        acre_tag_pop();
        if (p != nullptr && acre_tag_of(p) != tag) ADD_FAILURE();
        acre_free(slots[random.below(64)].exchange(p));
        if (info().live > kLimit) ADD_FAILURE();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t live = 0;
  for (auto& slot : slots) live += slot == nullptr ? 0 : acre_malloc_usable_size(slot);
  EXPECT_EQ(info().live, live);
  EXPECT_NE(info().refused, 0u);
  EXPECT_LE(info().peak, kLimit);
  for (auto& slot : slots) acre_free(slot);
  EXPECT_EQ(info().live, 0u);
}

TEST_F(Tags, TheProfilerSeesBlocksOfTags) {
  uint64_t before = 0;
  bool on = true;
  size_t lg = 0;
  EXPECT_EQ(acre_mallctl("prof.active", nullptr, nullptr, &on, sizeof on), 0);
  EXPECT_EQ(acre_mallctl("prof.reset", nullptr, nullptr, &lg, sizeof lg), 0);  // nearly each block
  std::vector<void*> blocks;
  blocks.reserve(1000);
  {
    Scope scope(tag);
    for (int i = 0; i < 200; ++i) {
      blocks.push_back(acre_malloc(1000));
      EXPECT_EQ(acre_tag_of(blocks.back()), tag);
      before += acre_malloc_usable_size(blocks.back());
    }
    blocks.push_back(acre_malloc(50000));
    before += acre_malloc_usable_size(blocks.back());
  }
  EXPECT_EQ(info().live, before);
  for (void*& p : blocks) p = acre_realloc(p, 60000);
  for (void* p : blocks) EXPECT_EQ(acre_tag_of(p), tag);
  for (void* p : blocks) acre_free(p);
  EXPECT_EQ(info().live, 0u);
  on = false;
  EXPECT_EQ(acre_mallctl("prof.active", nullptr, nullptr, &on, sizeof on), 0);
}

}  // namespace
}  // namespace acre
