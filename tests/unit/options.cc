// tables/options: what ACRE_CONF says, and what is said about what it says.
#include "tables/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace acre {
namespace {

constexpr char kDefaults[] =
    "stats_print:false,arenas:0,dirty_decay_ms:10000,muzzy_decay_ms:0,release_rate:-1,background_thread:false,"
    "thread_cache_max:-1,unit_table:true";

// Reads a made-up environment; returns what was written to stderr.
std::string read(std::vector<std::string> variables) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  testing::internal::CaptureStderr();
  read_options(environment.data());
  return testing::internal::GetCapturedStderr();
}
std::string conf(const std::string& text) { return read({"HOME=/", "ACRE_CONF=" + text, "TERM=none"}); }

class OptionsTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(conf(kDefaults), ""); }
  void TearDown() override { SetUp(); }
};

TEST_F(OptionsTest, Defaults) {
  const Options fresh;
  EXPECT_EQ(fresh.stats_print, false);
  EXPECT_EQ(fresh.arenas, 0u);
  EXPECT_EQ(fresh.dirty_decay_ms, 10000);
  EXPECT_EQ(fresh.muzzy_decay_ms, 0);
  EXPECT_EQ(fresh.release_rate, -1);
  EXPECT_EQ(fresh.background_thread, false);
  EXPECT_EQ(fresh.thread_cache_max, -1);
  EXPECT_EQ(fresh.unit_table, true);
}

TEST_F(OptionsTest, GoodValues) {
  EXPECT_EQ(conf("stats_print:true,arenas:256,dirty_decay_ms:-1,thread_cache_max:0,unit_table:0"), "");
  EXPECT_TRUE(options().stats_print);
  EXPECT_EQ(options().arenas, 256u);
  EXPECT_EQ(options().dirty_decay_ms, -1);
  EXPECT_EQ(options().thread_cache_max, 0);
  EXPECT_FALSE(options().unit_table);
  EXPECT_EQ(conf("muzzy_decay_ms:-1,release_rate:1125899906842624,background_thread:true"), "");
  EXPECT_EQ(options().muzzy_decay_ms, -1);
  EXPECT_EQ(options().release_rate, int64_t{1} << 50);
  EXPECT_TRUE(options().background_thread);
  EXPECT_EQ(conf("stats_print:0,unit_table:1,thread_cache_max:9223372036854775807"), "");
  EXPECT_FALSE(options().stats_print);
  EXPECT_TRUE(options().unit_table);
  EXPECT_EQ(options().thread_cache_max, INT64_MAX);
}

TEST_F(OptionsTest, EmptySettingsAndNoSettings) {
  EXPECT_EQ(conf(""), "");
  EXPECT_EQ(conf(",,arenas:3,,dirty_decay_ms:5,"), "");
  EXPECT_EQ(options().arenas, 3u);
  EXPECT_EQ(options().dirty_decay_ms, 5);
  EXPECT_EQ(read({"PATH=/bin", "ACRE_CONFX=arenas:7", "XACRE_CONF=arenas:8", "ACRE_CON=arenas:9"}), "");
  EXPECT_EQ(read({}), "");
  read_options(nullptr);
  EXPECT_EQ(options().arenas, 3u);
}

TEST_F(OptionsTest, TheLastSettingOfAnOptionHolds) {
  EXPECT_EQ(conf("arenas:3,arenas:4"), "");
  EXPECT_EQ(options().arenas, 4u);
}

struct Bad {
  const char* setting;
  const char* message;
};

// For the tests' names.
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.setting; }

class OptionsBad : public testing::TestWithParam<Bad> {};

TEST_P(OptionsBad, OneLineAndTheOthersHold) {
  ASSERT_EQ(conf(kDefaults), "");
  const std::string setting = GetParam().setting;
  EXPECT_EQ(conf("arenas:7," + setting + ",dirty_decay_ms:123"),
            "acre: ACRE_CONF: " + std::string(GetParam().message) + " '" + setting + "' is ignored\n");
  EXPECT_EQ(options().arenas, 7u) << "before the bad one";
  EXPECT_EQ(options().dirty_decay_ms, 123) << "after it";
  EXPECT_FALSE(options().stats_print);
  EXPECT_TRUE(options().unit_table);
  EXPECT_EQ(options().thread_cache_max, -1);
  ASSERT_EQ(conf(kDefaults), "");
}

constexpr char kRange[] = "value out of range in";
constexpr char kUnknown[] = "unknown option in";
INSTANTIATE_TEST_SUITE_P(
    Settings, OptionsBad,
    testing::Values(Bad{"arenas:257", kRange}, Bad{"arenas:-1", kRange}, Bad{"arenas:", kRange},
                    Bad{"arenas:-", kRange}, Bad{"arenas:4x", kRange}, Bad{"arenas: 4", kRange},
                    Bad{"arenas:0x10", kRange}, Bad{"arenas:+4", kRange}, Bad{"arenas:true", kRange},
                    Bad{"dirty_decay_ms:-2", kRange}, Bad{"dirty_decay_ms:9223372036855", kRange},
                    Bad{"dirty_decay_ms:-9223372036854775807", kRange},
                    Bad{"dirty_decay_ms:-9223372036854775808", kRange},
                    Bad{"dirty_decay_ms:18446744073709551616", kRange},
                    Bad{"dirty_decay_ms:18446744073709551626", kRange}, Bad{"muzzy_decay_ms:-2", kRange},
                    Bad{"release_rate:-2", kRange}, Bad{"release_rate:1125899906842625", kRange},
                    Bad{"background_thread:2", kRange}, Bad{"decay_ms:1000", kUnknown},
                    Bad{"thread_cache_max:9223372036854775808", kRange},
                    Bad{"thread_cache_max:-2", kRange}, Bad{"thread_cache_max:-9223372036854775809", kRange},
                    Bad{"thread_cache_max:99999999999999999999999", kRange}, Bad{"stats_print:2", kRange},
                    Bad{"stats_print:yes", kRange}, Bad{"stats_print:TRUE", kRange},
                    Bad{"stats_print", "setting without ':'"}, Bad{"stats_prin:1", kUnknown},
                    Bad{"stats_print2:1", kUnknown}, Bad{":1", kUnknown}, Bad{" arenas:1", kUnknown}));

TEST_F(OptionsTest, AVeryLongBadSettingIsStillOneLine) {
  const std::string message = conf(std::string(1000, 'x') + ":1");
  EXPECT_EQ(message.rfind("acre: ACRE_CONF: unknown option in 'xxx", 0), 0u);
  ASSERT_FALSE(message.empty());
  EXPECT_EQ(message.back(), '\n');
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
}

}  // namespace
}  // namespace acre
