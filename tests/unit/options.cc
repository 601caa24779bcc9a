// tables/options: what the sources say, which of them counts, and what is said about what they say.
#include "tables/options.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace acre {
namespace {

unsigned index_named(const std::string& name) {
  for (unsigned i = 0; i < kOptionCount; ++i) {
    if (name == kOptionTable[i].name) return i;
  }
  ADD_FAILURE() << name;
  return 0;
}
OptionSource source_of(const std::string& name) { return option_source(index_named(name)); }

// Reads made-up sources; returns what was written to stderr.
std::string read_from(const OptionSources& sources) {
  testing::internal::CaptureStderr();
  read_options(sources);
  return testing::internal::GetCapturedStderr();
}

std::string read_environment(std::vector<std::string> variables, bool privileged = false) {
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  OptionSources sources;
  sources.environment = environment.data();
  sources.privileged = privileged;
  return read_from(sources);
}
std::string conf(const std::string& text) { return read_environment({"HOME=/", "ACRE_CONF=" + text, "TERM=none"}); }

std::string program(const std::string& text) {
  OptionSources sources;
  sources.program = text.c_str();
  return read_from(sources);
}

void back_to_defaults() {
  for (unsigned i = 0; i < kOptionCount; ++i) {
    ASSERT_TRUE(set_option(i, kOptionTable[i].initial, OptionSource::kDefault)) << kOptionTable[i].name;
  }
}

class OptionsTest : public testing::Test {
 protected:
  void SetUp() override { back_to_defaults(); }
  void TearDown() override { back_to_defaults(); }
};

TEST_F(OptionsTest, DefaultsAreTheTables) {
  const Options fresh;
  EXPECT_EQ(fresh.stats_print, false);
  EXPECT_EQ(fresh.arenas, 0);
  EXPECT_EQ(fresh.dirty_decay_ms, 10000);
  EXPECT_EQ(fresh.muzzy_decay_ms, 0);
  EXPECT_EQ(fresh.release_rate, -1);
  EXPECT_EQ(fresh.background_thread, false);
  EXPECT_EQ(fresh.thread_cache_max, -1);
  EXPECT_EQ(fresh.unit_table, true);
  for (unsigned i = 0; i < kOptionCount; ++i) {
    EXPECT_EQ(option_value(i), kOptionTable[i].initial) << kOptionTable[i].name;
    EXPECT_EQ(option_source(i), OptionSource::kDefault) << kOptionTable[i].name;
    EXPECT_GT(std::string(option_help(i)).size(), 10u) << kOptionTable[i].name;
  }
}

TEST_F(OptionsTest, GoodValues) {
  EXPECT_EQ(conf("stats_print:true,arenas:256,dirty_decay_ms:-1,thread_cache_max:0,unit_table:0"), "");
  EXPECT_TRUE(options().stats_print);
  EXPECT_EQ(options().arenas, 256);
  EXPECT_EQ(options().dirty_decay_ms, -1);
  EXPECT_EQ(options().thread_cache_max, 0);
  EXPECT_FALSE(options().unit_table);
  EXPECT_EQ(source_of("arenas"), OptionSource::kEnvironment);
  EXPECT_EQ(source_of("chunk"), OptionSource::kDefault);
  EXPECT_EQ(conf("muzzy_decay_ms:-1,release_rate:1024T,background_thread:true"), "");
  EXPECT_EQ(options().muzzy_decay_ms, -1);
  EXPECT_EQ(options().release_rate, int64_t{1} << 50);
  EXPECT_TRUE(options().background_thread);
  EXPECT_EQ(conf("stats_print:0,unit_table:1,thread_cache_max:140737488355328"), "");
  EXPECT_FALSE(options().stats_print);
  EXPECT_TRUE(options().unit_table);
  EXPECT_EQ(options().thread_cache_max, kMostBytes);
}

// The ends of every range are in it, and what is beyond is not.
TEST_F(OptionsTest, EveryRange) {
  for (unsigned i = 0; i < kOptionCount; ++i) {
    const OptionInfo& info = kOptionTable[i];
    const auto setting = [&](int64_t value) { return std::string(info.name) + ":" + std::to_string(value); };
    if (info.type == OptionType::kChoice || info.type == OptionType::kPath) continue;
    EXPECT_EQ(conf(setting(info.least)), "");
    EXPECT_EQ(option_value(i), info.least);
    EXPECT_EQ(conf(setting(info.most)), "");
    EXPECT_EQ(option_value(i), info.most);
    EXPECT_FALSE(set_option(i, info.most + 1, OptionSource::kRunTime));
    EXPECT_FALSE(set_option(i, info.least - 1, OptionSource::kRunTime));
    EXPECT_EQ(option_value(i), info.most);
    back_to_defaults();
    EXPECT_NE(conf(setting(info.most + 1)), "");
    EXPECT_NE(conf(setting(info.least - 1)), "");
    EXPECT_EQ(option_value(i), info.initial);
  }
}

TEST_F(OptionsTest, EveryNamedValue) {
  for (unsigned i = 0; i < kOptionCount; ++i) {
    const OptionInfo& info = kOptionTable[i];
    for (int64_t value = 0; *option_value_name(i, value) != '\0'; ++value) {
      EXPECT_EQ(conf(std::string(info.name) + ":" + option_value_name(i, value)), "");
      EXPECT_EQ(option_value(i), value) << info.name;
      EXPECT_LE(value, info.most);
    }
    if (info.most != INT64_MAX) {
      EXPECT_STREQ(option_value_name(i, info.most + 1), "");
    }
    back_to_defaults();
  }
}

TEST_F(OptionsTest, APathIsKept) {
  EXPECT_STREQ(path_of(options().file), "");
  EXPECT_EQ(conf("file: /mnt/some where ,device:/dev/other"), "");
  EXPECT_STREQ(path_of(options().file), "/mnt/some where");
  EXPECT_STREQ(path_of(options().device), "/dev/other");
  EXPECT_EQ(conf("file:"), "");
  EXPECT_STREQ(path_of(options().file), "");
  EXPECT_EQ(conf("file:" + std::string(kMostPath - 1, 'x')), "");
  EXPECT_EQ(strlen(path_of(options().file)), kMostPath - 1);
  EXPECT_NE(conf("file:" + std::string(kMostPath, 'y')).find("a path of at most 1023 characters"), std::string::npos);
  EXPECT_EQ(path_of(options().file)[0], 'x');
}

TEST_F(OptionsTest, BytesTakeSuffixes) {
  const std::pair<const char*, int64_t> cases[] = {{"7", 7}, {"0", 0}, {"1K", 1024}, {"3k", 3072}, {"64M", 64 << 20},
                                                   {"2m", 2 << 20}, {"1G", 1 << 30}, {"128T", kMostBytes}};
  for (const auto& [text, value] : cases) {
    EXPECT_EQ(conf(std::string("thread_cache_max:") + text), "");
    EXPECT_EQ(options().thread_cache_max, value) << text;
  }
}

TEST_F(OptionsTest, EmptySettingsAndNoSettings) {
  EXPECT_EQ(conf(""), "");
  EXPECT_EQ(conf(",,arenas:3,,thread_cache_max:5,"), "");
  EXPECT_EQ(options().arenas, 3);
  EXPECT_EQ(options().thread_cache_max, 5);
  EXPECT_EQ(read_environment({"PATH=/bin", "ACRE_CONFX=arenas:7", "XACRE_CONF=arenas:8", "ACRE_CON=arenas:9"}), "");
  EXPECT_EQ(read_environment({}), "");
  EXPECT_EQ(read_from(OptionSources{}), "");
  EXPECT_EQ(options().arenas, 3);
}

TEST_F(OptionsTest, LinesBlanksAndComments) {
  EXPECT_EQ(conf(" # arenas:1\n\n arenas : 5 \r\n\tstats_print:\ttrue#,zzz:1\n#\n#x:1,y\n chunk:4M , thread_cache_max:9"), "");
  EXPECT_EQ(options().arenas, 5);
  EXPECT_TRUE(options().stats_print);
  EXPECT_EQ(options().chunk, 4 << 20);
  EXPECT_EQ(options().thread_cache_max, 9);
}

TEST_F(OptionsTest, TheLastSettingOfAnOptionHolds) {
  EXPECT_EQ(conf("arenas:3,arenas:4"), "");
  EXPECT_EQ(options().arenas, 4);
}

struct Bad {
  const char* setting;
  const char* message;
};

// For the tests' names.
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.setting; }

class OptionsBad : public testing::TestWithParam<Bad> {};

TEST_P(OptionsBad, OneLineAndTheOthersHold) {
  back_to_defaults();
  const std::string setting = GetParam().setting;
  EXPECT_EQ(conf("arenas:7," + setting + ",chunk:123"),
            "acre: ACRE_CONF: '" + setting + "' is ignored: " + GetParam().message + "\n");
  EXPECT_EQ(options().arenas, 7) << "before the bad one";
  EXPECT_EQ(options().chunk, 123) << "after it";
  EXPECT_FALSE(options().stats_print);
  EXPECT_TRUE(options().unit_table);
  EXPECT_EQ(options().thread_cache_max, -1);
  EXPECT_EQ(program(setting), "acre: acre_conf: '" + setting + "' is ignored: " + GetParam().message + "\n");
  back_to_defaults();
}

constexpr char kArenas[] = "arenas is a number from 0 to 256";
constexpr char kBytes[] = "thread_cache_max is a number of bytes (K, M, G and T may follow) from -1 to 128T";
constexpr char kBool[] = "stats_print is false or true";
constexpr char kUnknown[] = "there is no such option; `acre options` lists them";
constexpr char kForm[] = "a setting is NAME:VALUE";
INSTANTIATE_TEST_SUITE_P(
    Settings, OptionsBad,
    testing::Values(Bad{"arenas:257", kArenas}, Bad{"arenas:-1", kArenas}, Bad{"arenas:", kArenas},
                    Bad{"arenas:-", kArenas}, Bad{"arenas:4x", kArenas}, Bad{"arenas:4 4", kArenas},
                    Bad{"arenas:0x10", kArenas}, Bad{"arenas:+4", kArenas}, Bad{"arenas:true", kArenas},
                    Bad{"arenas:1K", kArenas}, Bad{"arenas:18446744073709551616", kArenas},
                    Bad{"arenas:18446744073709551617", kArenas}, Bad{"arenas:4:4", kArenas},
                    Bad{"thread_cache_max:9223372036854775808", kBytes}, Bad{"thread_cache_max:K", kBytes},
                    Bad{"thread_cache_max:1KK", kBytes}, Bad{"thread_cache_max:129T", kBytes},
                    Bad{"thread_cache_max:9223372036854775807K", kBytes}, Bad{"thread_cache_max:-K", kBytes},
                    Bad{"thread_cache_max:-2", kBytes}, Bad{"thread_cache_max:-9223372036854775809", kBytes},
                    Bad{"thread_cache_max:99999999999999999999999", kBytes}, Bad{"thread_cache_max:1 K", kBytes},
                    Bad{"stats_print:2", kBool}, Bad{"stats_print:-1", kBool},
                    Bad{"stats_print:yes", kBool}, Bad{"stats_print:TRUE", kBool}, Bad{"stats_print:truer", kBool},
                    Bad{"stats_print:", kBool}, Bad{"stats_print", kForm}, Bad{"decay_ms:1000", kUnknown}, Bad{"stats_prin:1", kUnknown},
                    Bad{"stats_print2:1", kUnknown}, Bad{":1", kUnknown}, Bad{":", kUnknown}, Bad{"x y:1", kUnknown}));

TEST_F(OptionsTest, AVeryLongBadSettingIsStillOneLine) {
  const std::string message = conf(std::string(1000, 'x') + "\x1b\x7f:1");
  EXPECT_EQ(message.rfind("acre: ACRE_CONF: 'xxx", 0), 0u);
  EXPECT_NE(message.find("...' is ignored: there is no such option"), std::string::npos);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
  EXPECT_EQ(message.back(), '\n');
}

TEST_F(OptionsTest, ControlCharactersAreNotShown) {
  EXPECT_EQ(conf("a\x1b[2J\x7f\a:1"), "acre: ACRE_CONF: 'a?[2J??:1' is ignored: " + std::string(kUnknown) + "\n");
}

// --- Files ------------------------------------------------------------------------------------------------

class OptionsFile : public OptionsTest {
 protected:
  void SetUp() override {
    OptionsTest::SetUp();
    char name[] = "/tmp/acre-options-XXXXXX";
    folder_ = mkdtemp(name);
    path_ = folder_ + "/acre.conf";
  }
  void TearDown() override {
    unlink(path_.c_str());
    unlink((folder_ + "/target").c_str());
    rmdir(path_.c_str());
    rmdir(folder_.c_str());
    OptionsTest::TearDown();
  }
  void write(const std::string& text) { std::ofstream(path_) << text; }
  std::string read_file() {
    OptionSources sources;
    sources.file = path_.c_str();
    return read_from(sources);
  }

  std::string folder_, path_;
};

TEST_F(OptionsFile, NoFile) { EXPECT_EQ(read_file(), ""); }

TEST_F(OptionsFile, LinesOfAFile) {
  write("# the machine's\narenas:3\nstats_print:true, chunk:1G # two\n");
  EXPECT_EQ(read_file(), "");
  EXPECT_EQ(options().arenas, 3);
  EXPECT_TRUE(options().stats_print);
  EXPECT_EQ(options().chunk, 1 << 30);
  EXPECT_EQ(source_of("arenas"), OptionSource::kFile);
}

TEST_F(OptionsFile, ItsErrorsNameIt) {
  write("arenas:300\nchunk:1K");
  EXPECT_EQ(read_file(), "acre: /etc/acre.conf: 'arenas:300' is ignored: arenas is a number from 0 to 256\n");
  EXPECT_EQ(options().chunk, 1024);
}

TEST_F(OptionsFile, EmptyFileAndZeroBytes) {
  write("");
  EXPECT_EQ(read_file(), "");
  write(std::string("arenas:3,\0:1,chunk:7", 20));
  EXPECT_EQ(read_file(), "acre: /etc/acre.conf: '?:1' is ignored: " + std::string(kUnknown) + "\n");
  EXPECT_EQ(options().arenas, 3);
  EXPECT_EQ(options().chunk, 7);
}

TEST_F(OptionsFile, TextOfALink) {
  ASSERT_EQ(symlink("arenas:6,chunk:2K", path_.c_str()), 0);
  EXPECT_EQ(read_file(), "");
  EXPECT_EQ(options().arenas, 6);
  EXPECT_EQ(options().chunk, 2048);
  EXPECT_EQ(source_of("arenas"), OptionSource::kFile);
}

TEST_F(OptionsFile, ALinkToAFile) {
  std::ofstream(folder_ + "/target") << "arenas:8\n";
  ASSERT_EQ(symlink("target", path_.c_str()), 0);
  EXPECT_EQ(read_file(), "");
  EXPECT_EQ(options().arenas, 8);
}

TEST_F(OptionsFile, ALinkToNothing) {
  ASSERT_EQ(symlink("/no/such/file", path_.c_str()), 0);
  EXPECT_EQ(read_file(), "acre: /etc/acre.conf: '/no/such/file' is ignored: a setting is NAME:VALUE\n");
}

TEST_F(OptionsFile, TheLongestFileAndOneMore) {
  const std::string line = "arenas:9\n";
  write(line + std::string((16 << 10) - line.size(), '#'));
  EXPECT_EQ(read_file(), "");
  EXPECT_EQ(options().arenas, 9);
  back_to_defaults();
  write(line + std::string((16 << 10) + 1 - line.size(), '#'));
  EXPECT_EQ(read_file(), "acre: " + path_ + " is ignored: it has more than 16384 bytes\n");
  EXPECT_EQ(options().arenas, 0);
}

TEST_F(OptionsFile, WhatIsNoFile) {
  ASSERT_EQ(mkdir(path_.c_str(), 0700), 0);
  EXPECT_EQ(read_file(), "acre: " + path_ + " is ignored: it cannot be read\n");
  ASSERT_EQ(rmdir(path_.c_str()), 0);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);  // which nobody writes to: it is not waited for
  EXPECT_EQ(read_file(), "");
}

// --- Several sources ----------------------------------------------------------------------------------------

TEST_F(OptionsFile, TheFileThenTheEnvironmentThenTheProgram) {
  write("arenas:1,chunk:1,thread_cache_max:1,stats_print:1");
  char variable[] = "ACRE_CONF=arenas:2,chunk:2,thread_cache_max:2,wrong";
  char* environment[] = {variable, nullptr};
  OptionSources sources{path_.c_str(), environment, "arenas:3,chunk:4T", false};
  EXPECT_EQ(read_from(sources),
            "acre: ACRE_CONF: 'wrong' is ignored: a setting is NAME:VALUE\n"
            "acre: acre_conf: 'chunk:4T' is ignored: chunk is a number of bytes (K, M, G and T may follow) from 0 to 1G\n");
  EXPECT_EQ(options().arenas, 3);
  EXPECT_EQ(options().chunk, 2) << "what the program says is wrong";
  EXPECT_EQ(options().thread_cache_max, 2);
  EXPECT_TRUE(options().stats_print);
  EXPECT_EQ(source_of("arenas"), OptionSource::kProgram);
  EXPECT_EQ(source_of("chunk"), OptionSource::kEnvironment);
  EXPECT_EQ(source_of("stats_print"), OptionSource::kFile);
}

TEST_F(OptionsFile, PrivilegedProgramsDoNotReadTheEnvironment) {
  write("arenas:1");
  char variable[] = "ACRE_CONF=arenas:2,wrong";
  char* environment[] = {variable, nullptr};
  OptionSources sources{path_.c_str(), environment, "chunk:3", true};
  EXPECT_EQ(read_from(sources), "");
  EXPECT_EQ(options().arenas, 1);
  EXPECT_EQ(options().chunk, 3);
}

// --- TCMalloc's variables -----------------------------------------------------------------------------------

TEST_F(OptionsTest, ReleaseRatesAreDecayTimes) {
  const std::pair<const char*, int64_t> cases[] = {{"1", 10000}, {"1.0", 10000}, {"2", 5000}, {"0.5", 20000},
                                                   {".25", 40000}, {"10", 1000}, {" 4 ", 2500}, {"0", -1}, {"0.0", -1},
                                                   {"20000", 0}, {"0.000001", 10000000000}, {"0.0000001", -1}};
  for (const auto& [text, ms] : cases) {
    EXPECT_EQ(read_environment({std::string("TCMALLOC_RELEASE_RATE=") + text}), "") << text;
    EXPECT_EQ(options().dirty_decay_ms, ms) << text;
    EXPECT_EQ(source_of("dirty_decay_ms"), OptionSource::kTcmalloc);
  }
}

TEST_F(OptionsTest, TruthIsInTheFirstLetter) {
  for (const std::string text : {"1", "true", "TRUE", "yes", "Y", "t"}) {
    EXPECT_EQ(read_environment({"TCMALLOC_AGGRESSIVE_DECOMMIT=" + text}), "");
    EXPECT_EQ(options().dirty_decay_ms, 0) << text;
    EXPECT_EQ(read_environment({"TCMALLOC_DISABLE_MEMORY_RELEASE=" + text}), "");
    EXPECT_EQ(options().dirty_decay_ms, -1) << text;
    back_to_defaults();
  }
  for (const std::string text : {"0", "false", "No", "F"}) {
    EXPECT_EQ(read_environment({"TCMALLOC_AGGRESSIVE_DECOMMIT=" + text, "TCMALLOC_DISABLE_MEMORY_RELEASE=" + text}), "");
    EXPECT_EQ(options().dirty_decay_ms, 10000) << text;
    EXPECT_EQ(source_of("dirty_decay_ms"), OptionSource::kDefault);
  }
}

TEST_F(OptionsTest, WrongValuesOfTcmallocsVariables) {
  for (const std::string text : {"", "-1", "fast", "1e3", ".", "1.2.3", "99999999999999999999"}) {
    EXPECT_EQ(read_environment({"TCMALLOC_RELEASE_RATE=" + text}),
              "acre: TCMALLOC_RELEASE_RATE: '" + text + "' is ignored: it is a number from 0 on, 1 is the default\n");
  }
  EXPECT_EQ(read_environment({"TCMALLOC_AGGRESSIVE_DECOMMIT=on"}),
            "acre: TCMALLOC_AGGRESSIVE_DECOMMIT: 'on' is ignored: it is true or false\n");
  EXPECT_EQ(read_environment({"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=x"}),
            "acre: TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES: 'x' is ignored: " + std::string(kBytes) + "\n");
  EXPECT_EQ(options().dirty_decay_ms, 10000);
  EXPECT_EQ(options().thread_cache_max, -1);
}

TEST_F(OptionsTest, TcmallocsSampleParameterAndHeapLimit) {
  EXPECT_EQ(read_environment({"TCMALLOC_SAMPLE_PARAMETER=0"}), "");
  EXPECT_FALSE(options().prof);
  EXPECT_EQ(options().prof_sample, 512 << 10);
  EXPECT_EQ(read_environment({"TCMALLOC_SAMPLE_PARAMETER=65536", "TCMALLOC_HEAP_LIMIT_MB=100"}), "");
  EXPECT_TRUE(options().prof);
  EXPECT_EQ(options().prof_sample, 65536);
  EXPECT_EQ(options().hard_limit, 100 << 20);
  back_to_defaults();
  EXPECT_EQ(read_environment({"TCMALLOC_SAMPLE_PARAMETER=often"}),
            "acre: TCMALLOC_SAMPLE_PARAMETER: 'often' is ignored: it is a number of bytes\n");
  EXPECT_FALSE(options().prof);
}

TEST_F(OptionsTest, ProfilesInTheWordsOfOthers) {
  EXPECT_EQ(options().large_alloc_report, int64_t{1} << 30);
  EXPECT_EQ(read_environment({"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD=4096"}), "");
  EXPECT_EQ(options().large_alloc_report, 4096);
  EXPECT_EQ(read_environment({"MALLOC_CONF=lg_prof_sample:16,lg_prof_interval:30,prof_gdump:true,prof_prefix:jeprof.out"}),
            "");
  EXPECT_EQ(options().prof_sample, 1 << 16);
  EXPECT_EQ(options().prof_interval, 1 << 30);
  EXPECT_TRUE(options().prof_gdump);
  EXPECT_STREQ(path_of(options().prof_prefix), "jeprof.out");
  EXPECT_EQ(read_environment({"MALLOC_CONF=lg_prof_interval:-1,lg_prof_sample:48,lg_prof_sample:x"}), "");
  EXPECT_EQ(options().prof_interval, 0);
  EXPECT_EQ(options().prof_sample, 1 << 16);
  EXPECT_NE(read_environment({"ACRE_CONF=lg_prof_sample:16"}), "");  // a word of jemalloc's
}

TEST_F(OptionsTest, SourcesOfMemoryInTcmallocsWords) {
  EXPECT_EQ(read_environment({"TCMALLOC_SKIP_MMAP=1", "TCMALLOC_SKIP_SBRK=false", "TCMALLOC_DEVMEM_START=16",
                              "TCMALLOC_DEVMEM_LIMIT=32", "TCMALLOC_DEVMEM_DEVICE=/dev/other",
                              "TCMALLOC_MEMFS_MALLOC_PATH=/mnt/huge", "TCMALLOC_MEMFS_LIMIT_MB=64",
                              "TCMALLOC_MEMFS_ABORT_ON_FAIL=yes", "TCMALLOC_MEMFS_IGNORE_MMAP_FAIL=t",
                              "TCMALLOC_MEMFS_MAP_PRIVATE=1"}), "");
  EXPECT_FALSE(options().mmap);
  EXPECT_TRUE(options().sbrk);
  EXPECT_EQ(options().device_start, 16 << 20);
  EXPECT_EQ(options().device_limit, 32 << 20);
  EXPECT_STREQ(path_of(options().device), "/dev/other");
  EXPECT_STREQ(path_of(options().file), "/mnt/huge");
  EXPECT_EQ(options().file_limit, 64 << 20);
  EXPECT_TRUE(options().file_abort && options().file_retry && options().file_private);
  EXPECT_EQ(read_environment({"TCMALLOC_MEMFS_LIMIT_MB=64M"}),
            "acre: TCMALLOC_MEMFS_LIMIT_MB: '64M' is ignored: it is a number of MiB\n");
  EXPECT_EQ(read_environment({"TCMALLOC_MEMFS_LIMIT_MB=999999999999999"}),
            "acre: TCMALLOC_MEMFS_LIMIT_MB: '999999999999999' is ignored: it is a number of MiB\n");
}

TEST_F(OptionsFile, TcmallocsVariablesStandBetweenTheFileAndAcresOwn) {
  write("dirty_decay_ms:1,thread_cache_max:1,chunk:1");
  std::string variables[] = {"TCMALLOC_RELEASE_RATE=2", "ACRE_CONF=thread_cache_max:2", "TCMALLOC_UNKNOWN=5",
                             "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES=33554432", "TCMALLOC_RELEASE_RATEX=3"};
  std::vector<char*> environment;
  for (std::string& variable : variables) environment.push_back(variable.data());
  environment.push_back(nullptr);
  EXPECT_EQ(read_from({path_.c_str(), environment.data(), nullptr, false}), "");
  EXPECT_EQ(options().dirty_decay_ms, 5000);
  EXPECT_EQ(options().thread_cache_max, 2);
  EXPECT_EQ(options().chunk, 1);
  EXPECT_EQ(source_of("thread_cache_max"), OptionSource::kEnvironment);
  EXPECT_EQ(read_from({nullptr, environment.data(), "thread_cache_max:3", true}), "");
  EXPECT_EQ(options().thread_cache_max, 3);
}

// The machine's, then what is meant for jemalloc and for TCMalloc, then acre's own; where each place stands in the
// environment is all the same.
TEST_F(OptionsFile, EachPlaceCountsMoreThanTheOneBefore) {
  write("dirty_decay_ms:1");
  std::string variables[] = {"ACRE_CONF=dirty_decay_ms:50", "TCMALLOC_RELEASE_RATE=10", "MALLOC_CONF=dirty_decay_ms:30"};
  char* all[] = {variables[0].data(), variables[1].data(), variables[2].data(), nullptr};
  char* others[] = {variables[1].data(), variables[2].data(), nullptr};
  char* jemallocs[] = {variables[2].data(), nullptr};
  char* none[] = {nullptr};
  const struct {
    OptionSources sources;
    int64_t value;
    OptionSource source;
  } cases[] = {
      {{path_.c_str(), all, "dirty_decay_ms:60", false, "dirty_decay_ms:20"}, 60, OptionSource::kProgram},
      {{path_.c_str(), all, nullptr, false, "dirty_decay_ms:20"}, 50, OptionSource::kEnvironment},
      {{path_.c_str(), others, nullptr, false, "dirty_decay_ms:20"}, 1000, OptionSource::kTcmalloc},
      {{path_.c_str(), jemallocs, nullptr, false, "dirty_decay_ms:20"}, 30, OptionSource::kJemalloc},
      {{path_.c_str(), none, nullptr, false, "dirty_decay_ms:20"}, 20, OptionSource::kJemalloc},
      {{path_.c_str(), none, nullptr, false, nullptr}, 1, OptionSource::kFile},
      {{nullptr, none, nullptr, false, nullptr}, 10000, OptionSource::kDefault},
      {{path_.c_str(), all, nullptr, true, nullptr}, 1, OptionSource::kFile},  // a program with privileges
  };
  for (const auto& one : cases) {
    back_to_defaults();
    EXPECT_EQ(read_from(one.sources), "");
    EXPECT_EQ(options().dirty_decay_ms, one.value);
    EXPECT_EQ(source_of("dirty_decay_ms"), one.source);
  }
}

// True or false there, a path here: nothing is written to a file named true.
TEST_F(OptionsTest, JemallocsUtraceIsNotAcres) {
  OptionSources sources;
  sources.jemalloc = "utrace:true,dirty_decay_ms:7";
  EXPECT_EQ(read_from(sources), "");
  EXPECT_STREQ(path_of(options().utrace), "");
  EXPECT_EQ(options().dirty_decay_ms, 7);
}

TEST_F(OptionsTest, OfSeveralVariablesForOneOptionTheOneThatDecidesMore) {
  EXPECT_EQ(read_environment({"TCMALLOC_DISABLE_MEMORY_RELEASE=1", "TCMALLOC_AGGRESSIVE_DECOMMIT=1",
                              "TCMALLOC_RELEASE_RATE=2"}), "");
  EXPECT_EQ(options().dirty_decay_ms, -1);
  EXPECT_EQ(read_environment({"TCMALLOC_AGGRESSIVE_DECOMMIT=1", "TCMALLOC_RELEASE_RATE=2"}), "");
  EXPECT_EQ(options().dirty_decay_ms, 0);
}

// --- abort, abort_conf --------------------------------------------------------------------------------------

using OptionsDeath = OptionsTest;

TEST_F(OptionsDeath, AbortConfEndsTheProgramAfterAllIsRead) {
  const auto dies_of = [](const char* text, const char* pattern) {
    EXPECT_EXIT(
        {
          OptionSources sources;
          sources.program = text;
          read_options(sources);
        },
        testing::KilledBySignal(SIGABRT), pattern);
  };
  dies_of("abort_conf:true,x:1", "'x:1' is ignored.*\nacre: wrong settings end the program, since abort_conf is set");
  dies_of("x:1,abort_conf:true", "since abort_conf is set");
  dies_of("x:1,y:1,abort:true", "'x:1'.*\n.*'y:1'.*\n.*since abort is set");
  EXPECT_EQ(program("abort_conf:true,arenas:2"), "");
}

}  // namespace
}  // namespace acre
