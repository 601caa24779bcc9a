#include <gtest/gtest.h>
#include <unistd.h>

#include "proc.h"

namespace acre::trace::testing {
namespace {

TEST(Proc, WhatIsNotTheAllocators) {
  const auto mapping = [](const char* head, int kib) {
    return std::string(head) + "\nSize: 999 kB\nRss: 500 kB\nAnonymous: " + std::to_string(kib) + " kB\nVmFlags: rd\n";
  };
  const std::string heap = mapping("7f0000000000-7f0000100000 rw-p 00000000 00:00 0 ", 1);
  const std::string file = mapping("7f0000200000-7f0000201000 rw-p 00010000 fe:00 7    /usr/lib/a b.so", 20);
  const std::string variables = mapping("7f0000201000-7f0000203000 rw-p 00000000 00:00 0 ", 300);
  const std::string behind = mapping("7f0000203000-7f0000204000 rw-p 00000000 00:00 0 ", 4000);
  const std::string named = mapping("7f0000300000-7f0000304000 rw-p 00000000 00:00 0    [anon:acre:heap]", 50000);
  const std::string stack = mapping("7ffc00000000-7ffc00021000 rw-p 00000000 00:00 0    [stack]", 600000);
  EXPECT_EQ(others_in(heap + file + variables + behind + named + stack), (20 + 300 + 600000) * 1024u);
  EXPECT_EQ(others_in(heap + variables + "cut off"), 0u);
  EXPECT_GT(others_in(read_all("/proc/self/smaps")), 4096u);
}

TEST(Proc, JsonHasAnyBytes) {
  EXPECT_EQ(json_string("plain"), "\"plain\"");
  EXPECT_EQ(json_string("a\"b\\c\n\x7f"), "\"a\\\"b\\\\c\\u000a\\u007f\"");
  EXPECT_EQ(json_string("\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80"), "\"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80\"");
  // No UTF-8: a byte alone, too long a form, a surrogate, above the last code point, cut off.
  EXPECT_EQ(json_string("\xff"), "\"\\udcff\"");
  EXPECT_EQ(json_string("\xc0\x80"), "\"\\udcc0\\udc80\"");
  EXPECT_EQ(json_string("\xed\xa0\x80"), "\"\\udced\\udca0\\udc80\"");
  EXPECT_EQ(json_string("\xf4\x90\x80\x80"), "\"\\udcf4\\udc90\\udc80\\udc80\"");
  EXPECT_EQ(json_string("a\xe2\x82"), "\"a\\udce2\\udc82\"");
}

TEST(Proc, OfThisProcess) {
  const auto memory = statm_of(getpid());
  ASSERT_TRUE(memory);
  EXPECT_GT(memory->mapped, memory->resident);
  EXPECT_GT(memory->resident, 0u);
  const auto identity = identity_of(getpid());
  ASSERT_TRUE(identity);
  EXPECT_EQ(identity->state, 'R');
  EXPECT_GT(identity->start_stack, 0u);
  const std::string maps = read_all(proc_file(getpid(), "maps"));
  const std::string mappings = mappings_of(getpid(), maps);
  EXPECT_NE(mappings.find("build-id "), std::string::npos);
  EXPECT_EQ(mappings_of(getpid(), maps), mappings);  // what is known by now is the same
  EXPECT_LT(executable_lines(maps).size(), maps.size());
}

TEST(Proc, OfOneThatIsGone) {
  EXPECT_FALSE(statm_of(0x7ffffffe));
  EXPECT_FALSE(identity_of(0x7ffffffe));
  EXPECT_EQ(mappings_of(0x7ffffffe, ""), "");
  EXPECT_EQ(build_id_of("/no/such/file"), "");
  EXPECT_EQ(build_id_of("/etc/passwd"), "");
}

}  // namespace
}  // namespace acre::trace::testing
