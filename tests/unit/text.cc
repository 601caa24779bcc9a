// base/text: what is written, what is cut off, and that the buffer's end is never passed.
#include "base/text.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

namespace acre {
namespace {

template <class Write>
std::string written(Write write) {
  Line<128> line;
  write(line);
  EXPECT_EQ(line.size(), strlen(line.c_str()));
  return line.c_str();
}

TEST(Text, Numbers) {
  EXPECT_EQ(written([](Text& t) { t.decimal(0); }), "0");
  EXPECT_EQ(written([](Text& t) { t.decimal(UINT64_MAX); }), "18446744073709551615");
  EXPECT_EQ(written([](Text& t) { t.signed_decimal(-1); }), "-1");
  EXPECT_EQ(written([](Text& t) { t.signed_decimal(INT64_MIN); }), "-9223372036854775808");
  EXPECT_EQ(written([](Text& t) { t.signed_decimal(INT64_MAX); }), "9223372036854775807");
  EXPECT_EQ(written([](Text& t) { t.hex(0); }), "0x0");
  EXPECT_EQ(written([](Text& t) { t.hex(0xdeadbeef0); }), "0xdeadbeef0");
  EXPECT_EQ(written([](Text& t) { t.hex(UINT64_MAX); }), "0xffffffffffffffff");
}

TEST(Text, NumbersAlignedToTheRight) {
  EXPECT_EQ(written([](Text& t) { t.right(7, 4); }), "   7");
  EXPECT_EQ(written([](Text& t) { t.right(1234, 4); }), "1234");
  EXPECT_EQ(written([](Text& t) { t.right(12345, 4); }), "12345");
  EXPECT_EQ(written([](Text& t) { t.right(0, 1); }), "0");
}

TEST(Text, RatiosAreRoundedDown) {
  EXPECT_EQ(written([](Text& t) { t.fixed(2, 3, 3); }), "0.666");
  EXPECT_EQ(written([](Text& t) { t.fixed(125, 10, 1); }), "12.5");
  EXPECT_EQ(written([](Text& t) { t.fixed(7, 2, 0); }), "3");
  EXPECT_EQ(written([](Text& t) { t.fixed(1, 1000, 2); }), "0.00");
  EXPECT_EQ(written([](Text& t) { t.fixed(1, 0, 2); }), "-");
}

TEST(Text, BytesForPeople) {
  EXPECT_EQ(written([](Text& t) { t.bytes(0); }), "0 B");
  EXPECT_EQ(written([](Text& t) { t.bytes(1023); }), "1023 B");
  EXPECT_EQ(written([](Text& t) { t.bytes(1024); }), "1.0 KiB");
  EXPECT_EQ(written([](Text& t) { t.bytes(13107200); }), "12.5 MiB");
  EXPECT_EQ(written([](Text& t) { t.bytes(uint64_t{1} << 30); }), "1.0 GiB");
  EXPECT_EQ(written([](Text& t) { t.bytes(UINT64_MAX); }), "16777215.9 TiB");
}

TEST(Text, WhatDoesNotFitIsCutOff) {
  for (size_t capacity = 1; capacity < 12; ++capacity) {
    char buffer[16];
    memset(buffer, '#', sizeof buffer);
    Text text(buffer, capacity);
    text.add("ab").decimal(345).add('c').hex(0x12).bytes(5);
    const std::string whole = "ab345c0x125 B";
    EXPECT_EQ(text.c_str(), whole.substr(0, capacity - 1));
    EXPECT_EQ(text.size(), capacity - 1);
    for (size_t i = capacity; i < sizeof buffer; ++i) EXPECT_EQ(buffer[i], '#') << "past the end at " << i;
    text.clear();
    EXPECT_STREQ(text.c_str(), "");
    EXPECT_EQ(text.size(), 0u);
  }
}

TEST(Text, WriteAllWritesAllOfItAndKeepsErrno) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const std::string sent(40000, 'x');  // fits the pipe
  errno = 4242;
  write_all(ends[1], sent.data(), sent.size());
  EXPECT_EQ(errno, 4242);
  close(ends[1]);
  std::string received(sent.size() + 1, '\0');
  size_t size = 0;
  while (ssize_t part = read(ends[0], received.data() + size, received.size() - size)) {
    ASSERT_GT(part, 0);
    size += static_cast<size_t>(part);
  }
  received.resize(size);
  EXPECT_EQ(received, sent);
  close(ends[0]);
  write_all(-1, "nobody reads this", 17);
}

}  // namespace
}  // namespace acre
