// slab/unit_table: a header by place for the window's units, a spare one elsewhere.
#include "slab/unit_table.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "os/os.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "support.h"

namespace acre {
namespace {

using test::run_at;
using unit_table::kUnitBytes;

class UnitTable : public testing::Test {
 protected:
  void SetUp() override {
    chunk_ = window::allocate(4 * kHugePageBytes);
    if (!window::contains(chunk_.start)) GTEST_SKIP() << "no window, or it is full";
    base_ = align_up(chunk_.start, kUnitBytes);
  }
  window::Chunk chunk_;
  Address base_ = 0;
};

TEST_F(UnitTable, EveryUnitHasAHeaderOfItsOwn) {
  std::set<Slab*> headers;
  for (Address unit = base_; unit + kUnitBytes <= chunk_.start + chunk_.bytes; unit += kUnitBytes) {
    PageRun run = run_at(unit, kRunUnitPages);
    Slab* header = unit_table::header_for(&run);
    ASSERT_NE(header, nullptr);
    ASSERT_TRUE(headers.insert(header).second);
    ASSERT_TRUE(is_aligned(address_of(header), sizeof(Slab)));
    for (size_t offset : {size_t{0}, size_t{1}, kUnitBytes / 2, kUnitBytes - 1}) {
      ASSERT_EQ(unit_table::at(pointer_to(unit + offset)), header);
    }
    ASSERT_NE(unit_table::at(pointer_to(unit + kUnitBytes)), header);
    unit_table::drop_header(header);
    ASSERT_EQ(unit_table::header_for(&run), header) << "it stays the unit's";
  }
}

TEST_F(UnitTable, AnyPointerNamesSomeHeader) {
  test::Random random(3);
  for (int i = 0; i < 100000; ++i) {
    const Slab* header = unit_table::at(pointer_to(random.next()));
    ASSERT_GE(header, unit_table::g_table);
    ASSERT_LE(header, unit_table::g_table + unit_table::g_mask / sizeof(Slab));
    ASSERT_EQ(header->limit & 0, 0u);  // can be read
  }
}

TEST_F(UnitTable, ItIsCommittedAsTheWindowFills) {
  const size_t reach = (unit_table::g_mask / sizeof(Slab) + 1) * kUnitBytes;
  if (reach >= window::bytes()) GTEST_SKIP() << "all of it is committed";
  PageRun far = run_at(window::start() + reach, kRunUnitPages);
  os::testing::refuse_requests(0, 1);
  Slab* spare = unit_table::header_for(&far);
  os::testing::refuse_nothing();
  EXPECT_NE(spare, unit_table::at(pointer_to(far.base))) << "the table does not reach there";
  Slab* header = unit_table::header_for(&far);
  EXPECT_EQ(header, unit_table::at(pointer_to(far.base)));
  header->capacity = 1;
  header->capacity = 0;
  EXPECT_EQ((unit_table::g_mask / sizeof(Slab) + 1) * kUnitBytes, 2 * reach);
  if (spare != nullptr) unit_table::drop_header(spare);
}

// A thread that sees the table extended may not see the mask yet: it would get another run's header.
TEST_F(UnitTable, AHeaderIsItsUnitsWhateverTheMaskSays) {
  const size_t reach = (unit_table::g_headers_mask / sizeof(Slab) + 1) * kUnitBytes;
  if (reach >= window::bytes()) GTEST_SKIP() << "all of it is committed";
  PageRun far = run_at(window::start() + reach, kRunUnitPages);
  const size_t before = unit_table::g_headers_mask;
  Slab* header = unit_table::header_for(&far);
  const size_t after = unit_table::g_headers_mask;
  ASSERT_NE(before, after);
  unit_table::g_headers_mask = before;
  EXPECT_EQ(unit_table::header_for(&far), header);
  unit_table::g_headers_mask = after;
}

// With 2^20 equally likely places, 2^16 draws give some 63 500 different ones; with 2^19, some 61 600.
TEST(UnitTablePlace, IsRandomAndKeepsAwayFromOthers) {
  if (ACRE_TSAN || ACRE_ASAN) GTEST_SKIP() << "the sanitizer has memory of its own at most addresses";
  constexpr Address kTable = 0x7f1234567000, kImage = 0x5555deadb040;
  constexpr Address kOthers = Address{1} << 39, kShadowEnd = 0x10007fff8000;
  test::Random random(7);
  for (const size_t window : {size_t{4} << 30, size_t{32} << 30, size_t{1} << 40, size_t{8} << 40}) {
    std::set<Address> starts;
    for (int i = 0; i < 1 << 16; ++i) {
      const auto place = unit_table::place_for(kTable, window, {0, 0, random.next(), kImage});
      ASSERT_TRUE(is_aligned(place.aligned, window));
      ASSERT_TRUE(is_aligned(place.skipped, kHugePageBytes));
      ASSERT_LE(place.skipped, window / 4);
      ASSERT_LE(place.aligned + window, kTable);
      ASSERT_GE(place.aligned, kShadowEnd);
      ASSERT_TRUE(place.aligned + window <= kImage || place.aligned >= kImage + kOthers);
      starts.insert(place.aligned + place.skipped);
    }
    EXPECT_GT(starts.size(), 63000u) << window;
  }
}

// As on machines of few addresses, and under valgrind.
TEST(UnitTablePlace, FitsWhereAddressesAreFew) {
  test::Random random(8);
  for (const Address table : {Address{0x4000000}, Address{0x7ffe00000}, Address{0x7f12345000}}) {
    for (const Address image : {Address{0x10000}, Address{0x5555600000}, Address{0x7f20000000}}) {
      for (const size_t bytes : {size_t{4} << 30, size_t{16} << 30}) {
        for (int i = 0; i < 100; ++i) {
          const auto place = unit_table::place_for(table, bytes, {0, 0, random.next(), image});
          ASSERT_TRUE(is_aligned(place.aligned, bytes));
          ASSERT_NE(place.aligned, 0u);
          ASSERT_TRUE(place.aligned + bytes <= table || place.aligned > table);
        }
      }
    }
  }
}

// Whoever goes through all headers comes to none without memory, though more addresses were handed out than it covers.
TEST(UnitTableHeaders, HaveMemoryAsFarAsTheyAreUsed) {
  const size_t reach = (unit_table::g_mask / sizeof(Slab) + 1) * kUnitBytes;
  std::vector<window::Chunk> chunks;
  while (window::used_bytes() < 2 * reach) {
    chunks.push_back(window::allocate(window::kMostChunk));
    if (chunks.back().start == 0) GTEST_SKIP() << "no address space";
  }
  const Address end = address_of(unit_table::first_header()) + unit_table::used_bytes();
  EXPECT_LE(end, address_of(unit_table::g_table) + unit_table::committed_bytes());
  while (!chunks.empty()) {
    window::release(chunks.back());
    chunks.pop_back();
  }
}

TEST(UnitTableElsewhere, SpareHeadersAreUsedAgain) {
  const Address outside = window::start() - 64 * kUnitBytes;
  std::vector<Slab*> headers;
  for (Address unit = 0; unit < 8; ++unit) {
    PageRun run = run_at(outside + unit * kUnitBytes, kRunUnitPages);
    headers.push_back(unit_table::header_for(&run));
    ASSERT_NE(headers.back(), nullptr);
    ASSERT_NE(headers.back(), unit_table::at(pointer_to(run.base)));
  }
  const std::set<Slab*> distinct(headers.begin(), headers.end());
  EXPECT_EQ(distinct.size(), headers.size());
  for (Slab* header : headers) unit_table::drop_header(header);
  const size_t metadata = metadata::allocated_bytes();
  for (Address unit = 0; unit < 8; ++unit) {
    PageRun run = run_at(outside + unit * kUnitBytes, kRunUnitPages);
    Slab* header = unit_table::header_for(&run);
    EXPECT_TRUE(distinct.contains(header));
  }
  EXPECT_EQ(metadata::allocated_bytes(), metadata);
}

}  // namespace
}  // namespace acre
