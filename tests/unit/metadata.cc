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

// A program that writes past the end of a mapping beside acre's own memory, or before its start, ends there.
TEST(MetadataDeathTest, RegionsLieBetweenGuardPages) {
  ASSERT_NE(metadata::allocate(1), nullptr);
  metadata::for_each_region([](Address start, size_t bytes, void*) {
    auto* const region = static_cast<volatile char*>(pointer_to(start));
    EXPECT_DEATH(region[-1] = 1, "");
    EXPECT_DEATH(region[bytes] = 1, "");
  }, nullptr);
}

// Pages that were given back read as zero, hold no memory, and are given out again before new ones.
TEST(Metadata, PagesGoBack) {
  constexpr size_t kBytes = 3 * kPageBytes - 100;
  constexpr size_t kWhole = 3 * kPageBytes;
  const size_t before = metadata::allocated_bytes();
  std::vector<char*> pages;
  std::vector<Address> addresses;
  for (int i = 0; i < 3000; ++i) {
    pages.push_back(static_cast<char*>(metadata::allocate_pages(kBytes)));
    ASSERT_NE(pages.back(), nullptr);
    ASSERT_TRUE(is_aligned(address_of(pages.back()), kPageBytes));
    ASSERT_TRUE(test::all_zero(pages.back(), kBytes));
    memset(pages.back(), 0xee, kBytes);
    addresses.push_back(address_of(pages.back()));
  }
  std::sort(addresses.begin(), addresses.end());
  for (size_t i = 1; i < addresses.size(); ++i) ASSERT_GE(addresses[i], addresses[i - 1] + kWhole);
  const size_t stacks = metadata::allocated_bytes() - before - pages.size() * align_up(kWhole, os::page_bytes());
  EXPECT_LE(stacks, pages.size() * 16);
  const size_t mapped = metadata::mapped_bytes(), resident = os::resident_bytes();
  for (int round = 0; round < 3; ++round) {
    for (char* page : pages) metadata::give_back_pages(page, kBytes);
    EXPECT_EQ(metadata::allocated_bytes(), before + stacks);
    EXPECT_TRUE(test::all_zero(pages[100], kBytes));
    if (round == 0) {
      EXPECT_LE(os::resident_bytes(), resident - pages.size() * kWhole / 2);
    }
    for (char*& page : pages) {
      page = static_cast<char*>(metadata::allocate_pages(kBytes));
      ASSERT_TRUE(std::binary_search(addresses.begin(), addresses.end(), address_of(page)));
      ASSERT_TRUE(test::all_zero(page, kBytes));
      *page = 1;
    }
  }
  EXPECT_EQ(metadata::mapped_bytes(), mapped);
  for (char* page : pages) metadata::give_back_pages(page, kBytes);
}

TEST(Metadata, ThreadsGetPagesOfTheirOwn) {
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 3; ++t) {
    threads.emplace_back([t] {
      test::Random random(t);
      std::vector<unsigned*> pages;
      for (int i = 0; i < 20000; ++i) {
        if (pages.size() < 700 && random.one_in(2)) {
          pages.push_back(static_cast<unsigned*>(metadata::allocate_pages(kPageBytes)));
          if (*pages.back() != 0) abort();
          *pages.back() = t + 1;
        } else if (!pages.empty()) {
          if (*pages.back() != t + 1) abort();
          metadata::give_back_pages(pages.back(), kPageBytes);
          pages.pop_back();
        }
      }
      for (unsigned* page : pages) metadata::give_back_pages(page, kPageBytes);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Metadata, Refused) {
  const size_t mapped = metadata::mapped_bytes();
  const size_t large = mapped + (size_t{8} << 20);
  for (unsigned granted : {0, 1}) {  // addresses, and the memory there
    os::testing::refuse_requests(granted, 1);
    EXPECT_EQ(metadata::allocate(large), nullptr);
    os::testing::refuse_nothing();
    EXPECT_EQ(metadata::mapped_bytes(), mapped);
  }
  EXPECT_NE(metadata::allocate(large), nullptr);
}

}  // namespace
}  // namespace acre
