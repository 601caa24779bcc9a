// pages/window: chunks are disjoint, zeroed, in the page map, and never reach over a multiple of 4 GiB.
#include "pages/window.h"

#include <gtest/gtest.h>

#include <sys/mman.h>

#include <algorithm>
#include <vector>

#include "os/os.h"
#include "pages/page_map.h"
#include "support.h"

namespace acre {
namespace {

void expect_sound(const window::Chunk& chunk, size_t wanted) {
  ASSERT_NE(chunk.start, 0u);
  ASSERT_GE(chunk.bytes, wanted);
  ASSERT_TRUE(is_aligned(chunk.bytes, kHugePageBytes));
  ASSERT_TRUE(is_aligned(chunk.start, kPageBytes));
  ASSERT_EQ(chunk.start / window::kRunReach, (chunk.start + chunk.bytes - 1) / window::kRunReach);
  for (Address a : {chunk.start, chunk.start + chunk.bytes - kPageBytes}) {
    ASSERT_TRUE(test::all_zero(pointer_to(a), kPageBytes));
    PageRun page;
    page.base = a;
    page.pages = 1;
    g_page_map.set_ends(&page, &page);  // would fault if there were no entries
    ASSERT_EQ(g_page_map.find(pointer_to(a)), &page);
    g_page_map.set_ends(&page, nullptr);
  }
}

void expect_disjoint(std::vector<window::Chunk> chunks) {
  std::sort(chunks.begin(), chunks.end(), [](auto& a, auto& b) { return a.start < b.start; });
  for (size_t i = 1; i < chunks.size(); ++i) {
    ASSERT_LE(chunks[i - 1].start + chunks[i - 1].bytes, chunks[i].start);
  }
}

TEST(Window, ChunksOfAllSizes) {
  std::vector<window::Chunk> chunks;
  test::Random random(1);
  const size_t before = window::mapped_bytes();
  size_t bytes = 0;
  for (int i = 0; i < 60; ++i) {
    const size_t wanted = random.between(1, size_t{1} << random.between(12, 28));
    chunks.push_back(window::allocate(wanted));
    expect_sound(chunks.back(), wanted);
    bytes += chunks.back().bytes;
  }
  expect_disjoint(chunks);
  EXPECT_EQ(window::mapped_bytes() - before, bytes);
}

TEST(Window, TheLargestChunksKeepWithinTheirReach) {
  std::vector<window::Chunk> chunks;
  for (int i = 0; i < 7; ++i) {  // 1 GiB each, not at a multiple of it: one in four would cross
    chunks.push_back(window::allocate(i % 2 == 0 ? window::kMostChunk : window::kMostChunk - 1));
    expect_sound(chunks.back(), window::kMostChunk - 1);
    chunks.push_back(window::allocate(1));
    expect_sound(chunks.back(), 1);
  }
  expect_disjoint(chunks);
  for (const window::Chunk& chunk : chunks) os::purge(pointer_to(chunk.start), chunk.bytes);
}

TEST(Window, ItIsFilledFromItsLowEnd) {
  if (!test::window_is_open()) GTEST_SKIP() << "no window, or it is full";
  const window::Chunk first = window::allocate(1);
  const size_t used = window::used_bytes();
  EXPECT_TRUE(window::contains(first.start));
  EXPECT_EQ(first.start + first.bytes, window::start() + used);
  const window::Chunk second = window::allocate(1);
  EXPECT_EQ(second.start, first.start + first.bytes) << "neighbours, unless at a multiple of 4 GiB";
  EXPECT_FALSE(window::contains(window::start() + window::bytes()));
  EXPECT_FALSE(window::contains(window::start() - 1));
}

TEST(Window, AMappingOfTheProgramsOwnIsSteppedOver) {
  if (!test::window_is_open()) GTEST_SKIP() << "no window, or it is full";
  const Address next = window::start() + window::used_bytes();
  void* theirs = mmap(pointer_to(next + kPageBytes), kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(theirs, pointer_to(next + kPageBytes));
  memset(theirs, 0x5a, kPageBytes);
  const window::Chunk chunk = window::allocate(1);
  expect_sound(chunk, 1);
  EXPECT_TRUE(chunk.start + chunk.bytes <= address_of(theirs) || chunk.start > address_of(theirs));
  EXPECT_EQ(static_cast<unsigned char*>(theirs)[100], 0x5a);
  munmap(theirs, kPageBytes);
}

TEST(Window, RefusedChunksLoseNoAddresses) {
  expect_sound(window::allocate(1), 1);
  const size_t used = window::used_bytes();
  const size_t mapped = window::mapped_bytes();
  os::testing::refuse_requests(0, 1000);
  EXPECT_EQ(window::allocate(1).start, 0u);
  os::testing::refuse_nothing();
  EXPECT_EQ(window::mapped_bytes(), mapped);
  EXPECT_EQ(window::used_bytes(), used);
  expect_sound(window::allocate(1), 1);
}

}  // namespace
}  // namespace acre
