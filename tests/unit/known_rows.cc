// Rows that are known from earlier walks (sample/known_rows.h).
#include "sample/known_rows.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support.h"

namespace acre {
namespace {

using frame_rows::KnownRows;
using frame_rows::Row;

bool operator==(const Row& a, const Row& b) {
  return a.is_outermost == b.is_outermost && a.is_by_frame_pointer == b.is_by_frame_pointer &&
         a.saves_frame_pointer == b.saves_frame_pointer && a.end == b.end && a.return_address == b.return_address &&
         a.frame_pointer == b.frame_pointer;
}

constexpr Address kCode = 0x7f1234567890;
constexpr uint64_t kTables = 0x123456789abcdef0;

bool comes_back(const Row& row) {
  const auto rows = std::make_unique<KnownRows>();
  rows->keep(kCode, kTables, row);
  Row found;
  if (!rows->find(kCode, kTables, &found)) return false;
  EXPECT_TRUE(found == row) << row.end << ' ' << row.return_address << ' ' << row.frame_pointer;
  return true;
}

TEST(KnownRows, NoneAtFirst) {
  const auto rows = std::make_unique<KnownRows>();
  Row row;
  EXPECT_FALSE(rows->find(kCode, kTables, &row));
  EXPECT_FALSE(rows->find(kCode, kCode, &row));  // whose key is 0
}

TEST(KnownRows, AsTheyWereKept) {
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const bool c : {false, true}) {
        for (const int64_t end : {0L, 8L, 16L, 4096L, 0xfffffff8L, -8L, -0x10000000L, 0xffffff8L}) {
          for (const int64_t place : {-8L, 0L, 8L, -0x80000L, 0x7fff8L}) {
            EXPECT_EQ(comes_back({a, b, c, end, place, -16}), end <= 0xffffff8L);
            EXPECT_EQ(comes_back({a, b, c, end, -8, place}), end <= 0xffffff8L);
          }
        }
      }
    }
  }
}

TEST(KnownRows, NumbersTooLargeAreNotKept) {
  EXPECT_FALSE(comes_back({false, false, false, 0x10000000, -8, -16}));
  EXPECT_FALSE(comes_back({false, false, false, -0x10000008, -8, -16}));
  EXPECT_FALSE(comes_back({false, false, false, 16, 0x80000, -16}));
  EXPECT_FALSE(comes_back({false, false, false, 16, -0x80008, -16}));
  EXPECT_FALSE(comes_back({false, false, false, 16, -8, 0x80000}));
  EXPECT_FALSE(comes_back({false, false, false, 16, -8, -12}));
  EXPECT_FALSE(comes_back({false, false, false, 12, -8, -16}));
}

TEST(KnownRows, OfTheirTablesAlone) {
  const auto rows = std::make_unique<KnownRows>();
  rows->keep(kCode, kTables, {false, false, false, 16, -8, 0});
  Row row;
  for (unsigned bit = 0; bit < 64; ++bit) {
    EXPECT_FALSE(rows->find(kCode, kTables ^ uint64_t{1} << bit, &row)) << bit;
    EXPECT_FALSE(rows->find(kCode ^ uint64_t{1} << bit, kTables, &row)) << bit;
  }
  EXPECT_TRUE(rows->find(kCode, kTables, &row));
}

Row row_of(Address code) { return {false, (code & 1) != 0, (code & 2) != 0, static_cast<int64_t>(code % 509 * 8), -8, -16}; }

// More than there is room for, by several threads: what is found is right, and what was kept last is mostly found.
TEST(KnownRows, OfManyThreads) {
  const auto rows = std::make_unique<KnownRows>();
  std::atomic<uint64_t> found{0}, wrong{0};
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      test::Random random(t);
      for (int i = 0; i < 200000; ++i) {
        const Address code = kCode + random.below(4096);
        Row row;
        if (rows->find(code, kTables, &row)) {
          ++found;
          if (!(row == row_of(code))) ++wrong;
        } else {
          rows->keep(code, kTables, row_of(code));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0u);
  EXPECT_GT(found, 200000u);
}

}  // namespace
}  // namespace acre
