// Rows of unwinding tables (sample/frame_rows.h): of tables made here, and of those of the libraries in this process.
#include "sample/frame_rows.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/frames.h"
#include "support.h"

namespace acre {
namespace {

using frame_rows::Row;
using Bytes = std::vector<uint8_t>;

constexpr uint8_t kFp = kFramePointer, kSp = kStackPointer, kRa = kReturnAddress, kOther = 3;
constexpr unsigned kCodeBytes = 64;  // of the function whose rows these are

void append(Bytes& to, const Bytes& more) { to.insert(to.end(), more.begin(), more.end()); }
template <class Number>
void append_number(Bytes& to, Number n) {
  const auto* raw = reinterpret_cast<const uint8_t*>(&n);
  to.insert(to.end(), raw, raw + sizeof n);
}

// A table for one function, as compilers and linkers write it. What the tests change of it:
struct Table {
  Bytes form = {1, 0x1b, 0x03, 0x3b};
  uint32_t count = 1;
  uint8_t version = 1;
  std::string letters = "zR";
  uint8_t return_address = kRa;
  Bytes data = {0x1b};
  Bytes common = {0x0c, kSp, 8, uint8_t(0x80 | kRa), 1};  // ends at the stack pointer + 8; where to return: 8 before
  Bytes own = {};
  uint32_t code_bytes = kCodeBytes;
  int32_t extra_length = 0;  // of the function's entry, beyond what there is

  // All of it, and then the code.
  Bytes bytes() const {
    constexpr uint32_t kIndexBytes = 20;
    Bytes shared;
    append_number(shared, uint32_t{0});
    shared.push_back(version);
    shared.insert(shared.end(), letters.begin(), letters.end());
    append(shared, {0, 1, 0x78, return_address, uint8_t(data.size())});  // units: 1 of code, -8 of data
    append(shared, data);
    append(shared, common);
    const auto shared_bytes = static_cast<uint32_t>(shared.size());
    const uint32_t entry_at = kIndexBytes + 4 + shared_bytes;
    const auto entry_bytes = static_cast<uint32_t>(4 + 4 + 4 + 1 + own.size());
    const auto code_at = static_cast<int32_t>(entry_at + 4 + entry_bytes);

    Bytes all = form;
    append_number(all, int32_t{kIndexBytes - 4});
    append_number(all, count);
    append_number(all, code_at);
    append_number(all, static_cast<int32_t>(entry_at));
    append_number(all, shared_bytes);
    append(all, shared);
    append_number(all, entry_bytes + static_cast<uint32_t>(extra_length));
    append_number(all, entry_at + 4 - kIndexBytes);
    append_number(all, code_at - static_cast<int32_t>(entry_at + 8));
    append_number(all, code_bytes);
    all.push_back(0);
    append(all, own);
    all.resize(all.size() + kCodeBytes);
    return all;
  }

  std::optional<Row> row_at(unsigned offset) const { return row_in(bytes(), offset); }

  // In memory that has nothing before and after it; offset: in the code, which is the last of it.
  static std::optional<Row> row_in(const Bytes& all, unsigned offset) {
    const std::unique_ptr<uint8_t[]> memory(new uint8_t[all.size()]);
    memcpy(memory.get(), all.data(), all.size());
    const Address start = address_of(memory.get());
    const os::CodeObject object{start, start + all.size(), start};
    Row row;
    if (!frame_rows::Tables(object).find(start + all.size() - kCodeBytes + offset, &row)) return std::nullopt;
    return row;
  }
};

TEST(FrameRows, TheFirst) {
  const auto row = Table().row_at(0);
  ASSERT_TRUE(row);
  EXPECT_FALSE(row->is_outermost);
  EXPECT_FALSE(row->is_by_frame_pointer);
  EXPECT_FALSE(row->saves_frame_pointer);
  EXPECT_EQ(row->end, 8);
  EXPECT_EQ(row->return_address, -8);
  EXPECT_TRUE(Table().row_at(kCodeBytes - 1));
}

// push fp (1 byte); mov sp to fp (3 bytes); … leave at 20; ret.
TEST(FrameRows, AreInForceFromTheirPlaceOn) {
  Table table;
  table.own = {0x41, 0x0e, 16, uint8_t(0x80 | kFp), 2, 0x43, 0x0d, kFp, 0x02, 16, 0x0a, 0x0c, kSp, 8,
               uint8_t(0xc0 | kFp), 0x03, 4, 0, 0x0b, 0x04, 4, 0, 0, 0, 0x12, kFp, 0x7d, 0x13, 0x7c, 0, 0};
  EXPECT_EQ(table.row_at(0)->end, 8);
  EXPECT_FALSE(table.row_at(0)->saves_frame_pointer);
  for (unsigned at : {1u, 3u}) {
    const auto row = table.row_at(at);
    EXPECT_EQ(row->end, 16);
    EXPECT_TRUE(row->saves_frame_pointer);
    EXPECT_EQ(row->frame_pointer, -16);
    EXPECT_FALSE(row->is_by_frame_pointer);
  }
  for (unsigned at : {4u, 19u, 24u, 27u}) {  // 24: recalled
    EXPECT_TRUE(table.row_at(at)->is_by_frame_pointer) << at;
    EXPECT_EQ(table.row_at(at)->end, 16) << at;
    EXPECT_TRUE(table.row_at(at)->saves_frame_pointer) << at;
  }
  for (unsigned at : {20u, 23u}) {
    EXPECT_FALSE(table.row_at(at)->is_by_frame_pointer) << at;
    EXPECT_EQ(table.row_at(at)->end, 8) << at;
    EXPECT_FALSE(table.row_at(at)->saves_frame_pointer) << at;
  }
  EXPECT_EQ(table.row_at(28)->end, 32);  // -4 units, after -3
}

TEST(FrameRows, WhatIsSaidOfOtherRegistersIsOfNoAccount) {
  Table table;
  table.own = {uint8_t(0x80 | kOther), 9, 0x05, 90, 7, 0x06, kOther, 0x07, kOther, 0x08, kOther, 0x09, kOther, 5,
               0x10, kOther, 2, 0x70, 0, 0x16, kOther, 1, 0x50, 0x11, kOther, 0x7f, 0x14, kOther, 3, 0x15, kOther, 0x7f,
               0x2e, 0x90, 1, uint8_t(0xc0 | kOther), 0x00};
  const auto row = table.row_at(5);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->end, 8);
  EXPECT_EQ(row->return_address, -8);
}

TEST(FrameRows, LongNumbers) {
  Table table;
  table.own = {0x0e, 0x90, 0x80, 0x04, 0x05, kFp, 0x82, 0x01, 0x11, kRa, 0x80, 0x7f};
  const auto row = table.row_at(0);
  ASSERT_TRUE(row);
  EXPECT_EQ(row->end, 0x10010);
  EXPECT_EQ(row->frame_pointer, -8 * 130);
  EXPECT_EQ(row->return_address, 8 * 128);
}

TEST(FrameRows, TheOutermost) {
  Table table;
  table.own = {0x41, 0x07, kRa};
  EXPECT_FALSE(table.row_at(0)->is_outermost);
  EXPECT_TRUE(table.row_at(1)->is_outermost);
}

TEST(FrameRows, WhatAnExpressionSaidUntilSomethingElseDid) {
  Table table;
  table.own = {0x0f, 2, 0x77, 8, 0x10, kFp, 2, 0x76, 0, 0x41, 0x0d, kFp, 0x0e, 24, 0x41, 0x0c, kSp, 32,
               0x41, 0x06, kFp};
  EXPECT_FALSE(table.row_at(0));
  EXPECT_FALSE(table.row_at(1));
  EXPECT_FALSE(table.row_at(2));
  ASSERT_TRUE(table.row_at(3));
  EXPECT_EQ(table.row_at(3)->end, 32);
}

TEST(FrameRows, WhatMayFollowTheLetters) {
  Table table;
  table.letters = "zPLR";
  const Bytes kKnown[] = {{0x9b, 1, 2, 3, 4, 0x1b, 0x1b},
                          {0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0x1b},
                          {0x02, 1, 2, 0, 0x1b}};
  const Bytes kUnknown[] = {{0x50, 1, 2, 3, 4, 5, 6, 7, 8, 0xff, 0x1b}, {0x01, 1, 0, 0x1b}, {0x9b, 1, 2},
                            {0xff, 0xff, 0x1b}};
  for (const Bytes& data : kKnown) {
    table.data = data;
    EXPECT_TRUE(table.row_at(3));
  }
  for (const Bytes& data : kUnknown) {
    table.data = data;
    EXPECT_FALSE(table.row_at(3));
  }
  table = {};
  table.version = 3;
  EXPECT_TRUE(table.row_at(3));
}

TEST(FrameRows, NotKnown) {
  const struct {
    const char* what;
    std::function<void(Table&)> change;
  } kCases[] = {
      {"index of another version", [](Table& t) { t.form[0] = 2; }},
      {"index whose beginning is absolute", [](Table& t) { t.form[1] = 0x04; }},
      {"index with a long count", [](Table& t) { t.form[2] = 0x04; }},
      {"index of absolute addresses", [](Table& t) { t.form[3] = 0x1b; }},
      {"no entries", [](Table& t) { t.count = 0; }},
      {"more entries than there can be", [](Table& t) { t.count = 1u << 30; }},
      {"as many as a number holds", [](Table& t) { t.count = ~0u; }},
      {"version", [](Table& t) { t.version = 4; }},
      {"signal frame", [](Table& t) { t.letters = "zRS"; }},
      {"the other key", [](Table& t) { t.letters = "zRB"; }},
      {"unknown letter", [](Table& t) { t.letters = "zRX"; }},
      {"no letters", [](Table& t) { t.letters = ""; }},
      {"no encoding", [](Table& t) { t.letters = "z"; }},
      {"absolute addresses", [](Table& t) { t.data = {0x00}; }},
      {"letters without data", [](Table& t) { t.data = {}; }},
      {"return address in another column", [](Table& t) { t.return_address = kOther; }},
      {"elsewhere", [](Table& t) { t.code_bytes = 3; }},
      {"entry longer than the object", [](Table& t) { t.extra_length = 1000; }},
      {"entry of 0 bytes", [](Table& t) { t.extra_length = -13; }},
      {"64-bit entry", [](Table& t) { t.extra_length = -14; }},
      {"set_loc", [](Table& t) { t.own = {0x01, 0, 0, 0, 0}; }},
      {"unknown instruction", [](Table& t) { t.own = {0x3f}; }},
      {"instruction that ends too early", [](Table& t) { t.own = {0x0c, kSp}; }},
      {"number that ends too early", [](Table& t) { t.own = {0x0e, 0x80}; }},
      {"expression longer than the entry", [](Table& t) { t.own = {0x10, kOther, 100}; }},
      {"end by another register", [](Table& t) { t.own = {0x0d, kOther}; }},
      {"end by expression", [](Table& t) { t.own = {0x0f, 1, 0x50}; }},
      {"no end", [](Table& t) { t.common = {uint8_t(0x80 | kRa), 1}; }},
      {"no return address", [](Table& t) { t.common = {0x0c, kSp, 8}; }},
      {"return address as before", [](Table& t) { t.own = {0x08, kRa}; }},
      {"return address in a register", [](Table& t) { t.own = {0x09, kRa, kOther}; }},
      {"return address by expression", [](Table& t) { t.own = {0x10, kRa, 1, 0x50}; }},
      {"return address that is a value", [](Table& t) { t.own = {0x14, kRa, 1}; }},
      {"return address by a value's expression", [](Table& t) { t.own = {0x16, kRa, 1, 0x50}; }},
      {"frame pointer undefined", [](Table& t) { t.own = {0x07, kFp}; }},
      {"frame pointer in a register", [](Table& t) { t.own = {0x09, kFp, kOther}; }},
      {"frame pointer by expression", [](Table& t) { t.own = {0x10, kFp, 1, 0x50}; }},
      {"frame pointer that is a value", [](Table& t) { t.own = {0x15, kFp, 1}; }},
      {"stack pointer saved", [](Table& t) { t.own = {uint8_t(0x80 | kSp), 1}; }},
      {"stack pointer by a value's expression", [](Table& t) { t.own = {0x16, kSp, 1, 0x50}; }},
      {"recalled and not remembered", [](Table& t) { t.own = {0x0b}; }},
      {"remembered too often", [](Table& t) { t.own = Bytes(9, 0x0a); }},
  };
  for (const auto& c : kCases) {
    Table table;
    c.change(table);
    EXPECT_FALSE(table.row_at(5)) << c.what;
  }
  EXPECT_FALSE(Table().row_at(kCodeBytes));
  EXPECT_FALSE(Table::row_in(Bytes(kCodeBytes), 0));
}

TEST(FrameRows, SignedReturnAddresses) {
  Table table;
  table.own = {0x2d};
  EXPECT_EQ(table.row_at(5).has_value(), kReturnAddressesAreSigned);
}

// Another library may come to lie where one was unmapped.
TEST(FrameRows, TheNumberIsThatOfTheTables) {
  const auto number = [](const Table& table, size_t bytes, unsigned more) {
    static uint8_t memory[1024];
    const Bytes all = table.bytes();
    memset(memory, 0, sizeof memory);
    memcpy(memory, all.data(), all.size());
    const Address start = address_of(memory);
    const os::CodeObject object{start - more, start + bytes, start};
    return frame_rows::Tables(object).number();
  };
  const Table one;
  const uint64_t expected = number(one, 512, 0);
  EXPECT_NE(expected, 0u);
  EXPECT_EQ(number(one, 512, 0), expected);
  EXPECT_NE(number(one, 520, 0), expected);
  EXPECT_NE(number(one, 512, 8), expected);
  Table longer;
  longer.own = {0, 0, 0, 0};
  EXPECT_NE(number(longer, 512, 0), expected);
  Table more_in_common;
  more_in_common.common.push_back(0);
  EXPECT_NE(number(more_in_common, 512, 0), expected);
  Table two;
  two.count = 2;
  EXPECT_NE(number(two, 512, 0), expected);
}

TEST(FrameRows, AnObjectWithoutTables) {
  Row row;
  EXPECT_FALSE(frame_rows::Tables().find(0, &row));
  EXPECT_FALSE(frame_rows::Tables({0x1000, 0x2000, 0}).find(0x1800, &row));
}

// Whatever bytes there are, and wherever they end, nothing beyond is read: the address sanitizer would see it.
TEST(FrameRows, OfDamagedTables) {
  Table table;
  table.letters = "zPLR";
  table.data = {0x9b, 1, 2, 3, 4, 0x1b, 0x1b};
  table.own = {0x41, 0x0e, 16, uint8_t(0x80 | kFp), 2, 0x43, 0x0d, kFp, 0x0a, 0x10, kOther, 2, 0x76, 0,
               0x2e, 8, 0x0b, 0x44};
  const Bytes whole = table.bytes();
  ASSERT_TRUE(Table::row_in(whole, 9));
  for (size_t bytes = kCodeBytes; bytes < whole.size(); ++bytes) {
    Table::row_in(Bytes(whole.begin(), whole.begin() + static_cast<long>(bytes)), 9);
  }
  test::Random random(1);
  for (int i = 0; i < 20000; ++i) {
    Bytes damaged = whole;
    for (size_t n = random.between(1, 4); n != 0; --n) {
      damaged[random.below(whole.size() - kCodeBytes)] = static_cast<uint8_t>(random.next() >> 40);
    }
    Table::row_in(damaged, 9);
  }
}

// --- Tables that are there ----------------------------------------------------------------------------------------

// All functions of the object that has this one: some of their rows. How many of them are known, of 1000.
unsigned known_of_object(Address code) {
  os::CodeObject object;
  EXPECT_TRUE(os::find_object(code, &object));
  EXPECT_TRUE(code >= object.start && code < object.end);
  const auto* index = static_cast<const char*>(pointer_to(object.frame_index));
  uint32_t count;
  memcpy(&count, index + 8, sizeof count);
  frame_rows::Tables tables(object);
  uint64_t known = 0, asked = 0;
  for (uint32_t i = 0; i + 1 < count; ++i) {
    int32_t begin, next;
    memcpy(&begin, index + 12 + 8 * size_t{i}, sizeof begin);
    memcpy(&next, index + 20 + 8 * size_t{i}, sizeof next);
    for (int32_t at = begin; at < next && at < begin + 200; at += 5) {
      Row row;
      ++asked;
      if (!tables.find(object.frame_index + static_cast<Address>(int64_t{at}), &row)) continue;
      ++known;
      if (row.is_outermost) continue;
      EXPECT_EQ(row.end % 8, 0);
      EXPECT_LT(row.return_address, 0);
    }
  }
  EXPECT_GT(asked, 1000u);
  return static_cast<unsigned>(known * 1000 / asked);
}

TEST(FrameRows, OfThisProgramAndItsLibraries) {
  // Not known are gaps between functions, and, on aarch64, places where the return address is still in a register.
  constexpr unsigned kLeast = kReturnAddress == 30 ? 600 : 900;
  os::find_unwinder();
  os::CodeObject object;
  const Address here = address_of(reinterpret_cast<void*>(&known_of_object));
  if (!os::find_object(here, &object)) GTEST_SKIP() << "an old C library";
  for (void* function : {reinterpret_cast<void*>(&known_of_object), reinterpret_cast<void*>(&qsort),
                         reinterpret_cast<void*>(&std::terminate)}) {
    EXPECT_GT(known_of_object(address_of(function)), kLeast);
  }
  const int on_stack = 0;
  EXPECT_FALSE(os::find_object(address_of(&on_stack), &object));
  EXPECT_FALSE(os::find_object(0, &object));
}

}  // namespace
}  // namespace acre
