// pages/page_map: what is found where, on a map of the test's own and on addresses without memory.
#include "pages/page_map.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <thread>
#include <vector>

#include "os/os.h"
#include "support.h"

namespace acre {
namespace {

using test::run_at;

constexpr size_t kLeafBytes = size_t{1} << 30;
constexpr Address kEndOfAddresses = Address{1} << 48;

const void* at(Address a) { return pointer_to(a); }

TEST(PageMap, NothingIsFoundWhereNothingWasPrepared) {
  static PageMap map;
  for (Address a : {Address{0}, Address{1}, Address{4096}, Address{0x7fff12345678}, kEndOfAddresses - 1,
                    kEndOfAddresses, ~Address{0}, Address{1} << 63}) {
    EXPECT_EQ(map.find(at(a)), nullptr);
    EXPECT_EQ(map.find_covering(at(a)), nullptr);
  }
}

TEST(PageMap, EveryPageOfASlabRun) {
  static PageMap map;
  const Address base = 5 * kLeafBytes - 8 * kPageBytes;  // half of it in the next leaf
  PageRun run = run_at(base, 16);
  ASSERT_TRUE(map.prepare(base, run.bytes()));
  map.set_all(&run, &run);
  for (Address a = base; a < run.end(); a += 512) ASSERT_EQ(map.find(at(a)), &run);
  EXPECT_EQ(map.find(at(run.end() - 1)), &run);
  EXPECT_EQ(map.find(at(base - 1)), nullptr);
  EXPECT_EQ(map.find(at(run.end())), nullptr);
  map.set_all(&run, nullptr);
  for (Address a = base; a < run.end(); a += kPageBytes) ASSERT_EQ(map.find(at(a)), nullptr);
}

TEST(PageMapDeathTest, LeavesLieBetweenGuardPages) {
  static PageMap map;
  ASSERT_TRUE(map.prepare(5 * kLeafBytes, kPageBytes));
  size_t leaves = 0;
  map.for_each_leaf([&](Address start, size_t bytes) {
    auto* const leaf = static_cast<volatile char*>(pointer_to(start));
    EXPECT_DEATH(leaf[-1] = 1, "");
    EXPECT_DEATH(leaf[align_up(bytes, os::page_bytes())] = 1, "");
    ++leaves;
  });
  EXPECT_EQ(leaves, 1u);
}

TEST(PageMap, BothEndsOfOtherRuns) {
  static PageMap map;
  const Address base = 7 * kLeafBytes - kPageBytes;
  ASSERT_TRUE(map.prepare(base, 100 * kPageBytes));
  for (uint32_t pages : {1u, 2u, 3u, 100u}) {
    PageRun run = run_at(base, pages);
    map.set_ends(&run, &run);
    EXPECT_EQ(map.find(at(base + 17)), &run);
    EXPECT_EQ(map.find(at(run.end() - 1)), &run);
    if (pages > 2) {
      EXPECT_EQ(map.find(at(base + kPageBytes)), nullptr);
    }
    EXPECT_EQ(map.find(at(run.end())), nullptr);
    map.set_ends(&run, nullptr);
    EXPECT_EQ(map.find(at(base)), nullptr);
    EXPECT_EQ(map.find(at(run.end() - 1)), nullptr);
  }
}

TEST(PageMap, TheRunThatCoversAPointer) {
  static PageMap map;
  const Address base = 9 * kLeafBytes;
  ASSERT_TRUE(map.prepare(base, kLeafBytes));
  PageRun first = run_at(base + 10 * kPageBytes, 50);
  PageRun second = run_at(base + 80 * kPageBytes, 1);
  map.set_ends(&first, &first);
  map.set_ends(&second, &second);
  for (Address a = first.base; a < first.end(); a += 1000) EXPECT_EQ(map.find_covering(at(a)), &first);
  EXPECT_EQ(map.find_covering(at(second.base + 4095)), &second);
  EXPECT_EQ(map.find_covering(at(first.base - 1)), nullptr);
  EXPECT_EQ(map.find_covering(at(first.end())), nullptr) << "behind a run";
  EXPECT_EQ(map.find_covering(at(second.end())), nullptr);
}

// Whole leaves and huge pages without entries are passed over, wherever a run's neighbours are.
TEST(PageMap, AllRunsAreVisitedInOrder) {
  static PageMap map;
  const Address bases[] = {kPageBytes,
                           3 * kLeafBytes - 2 * kHugePageBytes - kPageBytes,  // the page before a huge page
                           3 * kLeafBytes - kHugePageBytes,
                           3 * kLeafBytes + 64 * kHugePageBytes,
                           3 * kLeafBytes + 129 * kHugePageBytes + 7 * kPageBytes,
                           70 * kLeafBytes,
                           1000 * kLeafBytes + 511 * kHugePageBytes + 511 * kPageBytes,
                           kEndOfAddresses - kPageBytes};
  std::vector<PageRun> runs;
  for (Address base : bases) runs.push_back(run_at(base, base == 3 * kLeafBytes - kHugePageBytes ? 1024 : 1));
  std::vector<const PageRun*> expected, seen;
  for (PageRun& run : runs) {
    ASSERT_TRUE(map.prepare(run.base, run.bytes()));
    map.set_ends(&run, &run);
    expected.push_back(&run);
  }
  map.for_each_run([&seen](const PageRun* run) { seen.push_back(run); });
  EXPECT_EQ(seen, expected);
  map.set_ends(&runs[4], nullptr);
  expected.erase(expected.begin() + 4);
  seen.clear();
  map.for_each_run([&seen](const PageRun* run) { seen.push_back(run); });
  EXPECT_EQ(seen, expected);
}

// Pages that were read or written, of memory of the map's own.
size_t touched_pages(Address start, size_t bytes) {
  start = align_up(start, kPageBytes);
  std::vector<unsigned char> present(bytes / kPageBytes);
  EXPECT_EQ(mincore(pointer_to(start), present.size() * kPageBytes, present.data()), 0);
  size_t touched = 0;
  for (unsigned char page : present) touched += page & 1;
  return touched;
}

// A walk over the runs takes as long as there are runs, not as long as there are addresses: programs ask for figures often.
TEST(PageMap, AWalkReadsOnlyWhatWasPrepared) {
  static PageMap map;
  PageRun run = run_at(20 * kLeafBytes + 100 * kHugePageBytes, 512);
  ASSERT_TRUE(map.prepare(run.base, run.bytes()));
  map.set_ends(&run, &run);
  size_t seen = 0;
  map.for_each_run([&seen](const PageRun*) { ++seen; });
  EXPECT_EQ(seen, 1u);
  map.for_each_leaf([](Address start, size_t bytes) { EXPECT_LE(touched_pages(start, bytes), 3u); });
  EXPECT_LE(touched_pages(address_of(&map), sizeof map), 3u);
}

TEST(PageMap, AddressesOutOfRangeCannotBePrepared) {
  static PageMap map;
  EXPECT_TRUE(map.prepare(kEndOfAddresses - kPageBytes, kPageBytes));
  EXPECT_FALSE(map.prepare(kEndOfAddresses - kPageBytes, 2 * kPageBytes));
  EXPECT_FALSE(map.prepare(kEndOfAddresses, kPageBytes));
  EXPECT_FALSE(map.prepare(Address{1} << 63, kPageBytes));
  PageRun last = run_at(kEndOfAddresses - kPageBytes, 1);
  map.set_ends(&last, &last);
  EXPECT_EQ(map.find(at(kEndOfAddresses - 1)), &last);
  EXPECT_EQ(map.find(at(kEndOfAddresses)), nullptr);
}

TEST(PageMap, RefusedMemory) {
  static PageMap map;
  const Address base = 11 * kLeafBytes;
  for (long allowed = 0; allowed < 3; ++allowed) {
    os::testing::refuse_requests(allowed, 1);
    EXPECT_FALSE(map.prepare(base + static_cast<size_t>(allowed) * 8 * kLeafBytes, 4 * kLeafBytes));
  }
  os::testing::refuse_nothing();
  EXPECT_TRUE(map.prepare(base, 4 * kLeafBytes));
  const long made = os::testing::requests_made();
  EXPECT_TRUE(map.prepare(base, 4 * kLeafBytes));
  EXPECT_EQ(os::testing::requests_made(), made) << "there already";
}

TEST(PageMap, ThreadsPrepareTheSameLeaves) {
  static PageMap map;
  constexpr int kLeaves = 50;
  static PageRun runs[4];
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 4; ++i) {
    threads.emplace_back([i] {
      for (Address leaf = 100; leaf < 100 + kLeaves; ++leaf) {
        ASSERT_TRUE(map.prepare(leaf * kLeafBytes, kLeafBytes));
        PageRun place = run_at(leaf * kLeafBytes + i * kPageBytes, 1);
        map.set_ends(&place, &runs[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Address leaf = 100; leaf < 100 + kLeaves; ++leaf) {
    for (size_t i = 0; i < 4; ++i) {
      ASSERT_EQ(map.find(at(leaf * kLeafBytes + i * kPageBytes)), &runs[i]) << "an entry was lost";
    }
  }
}

}  // namespace
}  // namespace acre
