// A long life with memory refused again and again, at random; fixed seeds.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include "../unit/support.h"
#include "blocks.h"
#include "cache/registry.h"
#include "child.h"
#include "os/os.h"
#include "pages/huge.h"

namespace acre::fake_os {
namespace {

constexpr size_t kMostBytes = 96 * kMiB;

// ThreadSanitizer does not see that the kernel orders one thread's munmap and the next one's mmap of the same
// addresses.
constexpr bool kHugeBlocksToo = ACRE_TSAN == 0;

size_t some_size(test::Random& random) {
  if (kHugeBlocksToo && random.one_in(2000)) return random.between(64 * kMiB, 70 * kMiB);
  if (random.one_in(50)) return random.between(1, 3 * kMiB);
  return random.one_in(8) ? random.between(1, 60000) : random.between(1, 600);
}

void step(test::Random& random, Blocks& blocks) {
  switch (random.below(10)) {
    case 0:
      blocks.allocate_zeroed(some_size(random));
      break;
    case 1:
      blocks.allocate_aligned(size_t{1} << random.between(3, 22), some_size(random));
      break;
    case 2:
    case 3:
      if (blocks.count() != 0) blocks.resize(random.below(blocks.count()), some_size(random));
      break;
    case 4:
    case 5:
    case 6:
      if (blocks.count() != 0) blocks.free(random.below(blocks.count()));
      break;
    default:
      blocks.allocate(some_size(random));
  }
  while (blocks.bytes() > kMostBytes) blocks.free(random.below(blocks.count()));
}

void expect_sound(bool empty) {
  size_t used = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) {
    const PageCounts counts = arenas::at(i)->pages.counts();
    FAKE_OS_CHECK(test::pages_add_up(counts));
    used += counts.used;
  }
  FAKE_OS_CHECK(!empty || used == 0);
  FAKE_OS_CHECK(!empty || huge::counts().bytes == 0);
}

void live(uint64_t seed, int steps) {
  test::Random random(seed);
  Blocks blocks;
  for (int i = 0; i < steps; ++i) {
    if (random.one_in(20)) {
      os::testing::refuse_requests(static_cast<long>(random.below(3)), static_cast<long>(random.between(1, 4)));
    }
    if (random.one_in(400)) arenas::purge_all();
    step(random, blocks);
    if (random.one_in(3000)) {
      blocks.check_all();
      blocks.free_all();
    }
  }
  blocks.check_all();
  blocks.free_all();
}

class Soak : public testing::TestWithParam<int> {};

TEST_P(Soak, OneThread) {
  const std::string failure = in_child([] {
    live(static_cast<uint64_t>(GetParam()), 100000);
    os::testing::refuse_nothing();
    if (Heap* heap = heap_if_any()) empty_heap(*heap);
    expect_sound(true);
    FAKE_OS_CHECK(Blocks{}.allocate(50 * kMiB) != nullptr);
  });
  EXPECT_EQ(failure, "");
}

TEST_P(Soak, SeveralThreads) {
  const std::string failure = in_child([] {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 3; ++i) {
      threads.emplace_back([i] { live(static_cast<uint64_t>(GetParam()) * 100 + i, 25000); });
    }
    for (std::thread& thread : threads) thread.join();
    os::testing::refuse_nothing();
    expect_sound(true);
    FAKE_OS_CHECK(Blocks{}.allocate(50 * kMiB) != nullptr);
  });
  EXPECT_EQ(failure, "");
}
INSTANTIATE_TEST_SUITE_P(Seeds, Soak, testing::Range(1, 7));

}  // namespace
}  // namespace acre::fake_os
