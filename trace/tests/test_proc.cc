#include <gtest/gtest.h>
#include <unistd.h>

#include "proc.h"

namespace acre::trace::testing {
namespace {

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
