// pages/metadata: zeroed memory in cache lines, that nobody gets twice.
#include "pages/metadata.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "os/os.h"
#include "support.h"

namespace acre {
namespace {

struct Piece {
  Address start;
  size_t bytes;
};

void take_pieces(uint64_t seed, std::vector<Piece>* pieces) {
  test::Random random(seed);
  for (int i = 0; i < 2000; ++i) {
    const size_t bytes = random.one_in(200) ? random.between(1, size_t{1} << 20) : random.between(1, 2000);
    void* memory = metadata::allocate(bytes);
    ASSERT_NE(memory, nullptr);
    ASSERT_TRUE(is_aligned(address_of(memory), kCacheLine));
    ASSERT_TRUE(test::all_zero(memory, bytes));
    memset(memory, 0xee, bytes);
    pieces->push_back({address_of(memory), bytes});
  }
}

TEST(Metadata, ThreadsGetMemoryOfTheirOwn) {
  const size_t before = metadata::allocated_bytes();
  std::vector<Piece> pieces[3];
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 3; ++i) threads.emplace_back([&pieces, i] { take_pieces(i + 1, &pieces[i]); });
  for (std::thread& thread : threads) thread.join();
  std::vector<Piece> all;
  size_t bytes = 0;
  for (auto& some : pieces) all.insert(all.end(), some.begin(), some.end());
  std::sort(all.begin(), all.end(), [](const Piece& a, const Piece& b) { return a.start < b.start; });
  for (size_t i = 0; i < all.size(); ++i) {
    bytes += align_up(all[i].bytes, kCacheLine);
    if (i != 0) {
      ASSERT_LE(all[i - 1].start + all[i - 1].bytes, all[i].start);
    }
  }
  EXPECT_EQ(metadata::allocated_bytes() - before, bytes);
  EXPECT_GE(metadata::mapped_bytes(), metadata::allocated_bytes());
}

// The leak checker leaves these out: not one page of what was allocated may lie elsewhere.
TEST(Metadata, AllOfItLiesInARegion) {
  std::vector<Piece> pieces;
  for (size_t bytes : {size_t{1}, size_t{3} << 20, size_t{100}, size_t{9} << 20, size_t{1}}) {
    pieces.push_back({address_of(metadata::allocate(bytes)), bytes});
  }
  struct Sums {
    const std::vector<Piece>& pieces;
    size_t inside = 0;
    size_t bytes = 0;
  } sums{pieces};
  metadata::for_each_region([](Address start, size_t bytes, void* argument) {
    auto& to = *static_cast<Sums*>(argument);
    to.bytes += bytes;
    for (const Piece& piece : to.pieces) to.inside += piece.start >= start && piece.start + piece.bytes <= start + bytes;
  }, &sums);
  EXPECT_EQ(sums.inside, pieces.size());
  EXPECT_EQ(sums.bytes, metadata::mapped_bytes());
}

TEST(Metadata, Refused) {
  const size_t mapped = metadata::mapped_bytes();
  const size_t large = mapped + (size_t{8} << 20);
  os::testing::refuse_requests(0, 1);
  EXPECT_EQ(metadata::allocate(large), nullptr);
  os::testing::refuse_nothing();
  EXPECT_EQ(metadata::mapped_bytes(), mapped);
  EXPECT_NE(metadata::allocate(large), nullptr);
}

}  // namespace
}  // namespace acre
