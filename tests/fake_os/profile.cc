// The heap profiler while memory is refused: what it cannot note it leaves out, the program's blocks are as ever, and
// when there is memory again it goes on.
#include "sample/profile.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "acre/acre.h"
#include "child.h"
#include "os/os.h"
#include "report/profile_file.h"
#include "scripts.h"

namespace acre::fake_os {
namespace {

constexpr size_t kHuge = size_t{70} << 20;

void begin(uint64_t mean) {
  FAKE_OS_CHECK(profile::prepare(mean));
  profile::set_active(true);
}

// Each path, a number of so many bits, is another stack.
constexpr unsigned kPathBits = 10;
void* allocate_by(unsigned path, unsigned bits, size_t bytes);
__attribute__((noinline)) void* left(unsigned path, unsigned bits, size_t bytes) {
  void* block = allocate_by(path, bits, bytes);
  asm volatile("" : "+r"(block));
  return block;
}
__attribute__((noinline)) void* right(unsigned path, unsigned bits, size_t bytes) {
  void* block = allocate_by(path, bits, bytes);
  asm volatile("" : "+r"(block) : : "memory");
  return block;
}
__attribute__((noinline)) void* allocate_by(unsigned path, unsigned bits, size_t bytes) {
  if (bits == 0) return acre_malloc(bytes);
  return (path & 1 ? left : right)(path >> 1, bits - 1, bytes);
}
void* allocate_by(unsigned path, size_t bytes) { return allocate_by(path, kPathBits, bytes); }

// With all memory refused, blocks by other stacks each until one is not sampled: there is no room for its stack. Returns
// its path.
unsigned use_up_room_for_stacks() {
  for (unsigned path = 0; path < 1u << kPathBits; ++path) {
    const uint64_t before = profile::totals().allocated.blocks;
    void* block = allocate_by(path, 64);
    FAKE_OS_CHECK(block != nullptr);
    acre_free(block);
    if (profile::totals().allocated.blocks == before) return path;
  }
  FAKE_OS_CHECK(!"there is always room");
  return 0;
}

// --- Samples ----------------------------------------------------------------------------------------------------

void samples_without_memory() {
  begin(0);
  std::vector<void*> blocks = {acre_malloc(64)};
  use_up_metadata();
  unsigned path = use_up_room_for_stacks();
  const profile::Totals full = profile::totals();
  FAKE_OS_CHECK(full.live.blocks == 1);
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate_by(path, 64));
  for (const void* block : blocks) FAKE_OS_CHECK(block != nullptr);
  FAKE_OS_CHECK(profile::totals().live.blocks == 1 && profile::totals().stacks == full.stacks);
  for (void* block : blocks) acre_free(block);
  FAKE_OS_CHECK(profile::totals().live.blocks == 0);

  os::testing::refuse_nothing();
  void* block = allocate_by(path, 64);
  FAKE_OS_CHECK(profile::totals().live.blocks == 1 && profile::totals().stacks == full.stacks + 1);
  acre_free(block);
}
TEST(ProfileRefusals, ABlockWhoseStackFindsNoRoomIsNotSampled) { EXPECT_EQ(in_child(samples_without_memory), ""); }

// Live samples have a table that doubles.
void places_without_memory() {
  begin(0);
  std::vector<void*> blocks;
  auto grow_to = [&](size_t count) {
    while (blocks.size() < count) blocks.push_back(acre_malloc(16));
  };
  grow_to(500);
  use_up_metadata();
  grow_to(1500);
  for (const void* block : blocks) FAKE_OS_CHECK(block != nullptr);
  const uint64_t sampled = profile::totals().live.blocks;
  FAKE_OS_CHECK(sampled >= 500 && sampled < blocks.size());
  os::testing::refuse_nothing();
  grow_to(2000);
  FAKE_OS_CHECK(profile::totals().live.blocks == sampled + 500);
  for (void* block : blocks) acre_free(block);
  FAKE_OS_CHECK(profile::totals().live.blocks == 0);
}
TEST(ProfileRefusals, BlocksForWhichThereIsNoPlaceAreNotSampled) { EXPECT_EQ(in_child(places_without_memory), ""); }

// --- Growth -----------------------------------------------------------------------------------------------------

// The huge block may be refused, or what its growth needs to be counted.
void growth_with_refusals(long k, long refused) {
  begin(0);
  for (size_t bytes : {size_t{64}, kHuge}) acre_free(acre_malloc(bytes));  // so that there are headers
  use_up_metadata();
  const unsigned path = use_up_room_for_stacks();
  const profile::Totals before = profile::totals();
  os::testing::refuse_requests(k, refused);
  errno = 0;
  auto* block = static_cast<char*>(allocate_by(path, kHuge));
  const profile::Totals after = profile::totals();
  const uint64_t counted = after.grown_bytes - before.grown_bytes;
  if (block == nullptr) {
    FAKE_OS_CHECK(errno == ENOMEM && counted == 0);
  } else {
    FAKE_OS_CHECK(counted == 0 || (counted == kHuge && after.grown == before.grown + 1));
    block[0] = block[kHuge - 1] = 1;
    acre_free(block);
  }
  answer_with(block == nullptr ? 1 : counted == 0 ? 2 : 3);

  os::testing::refuse_nothing();
  const uint64_t grown = profile::totals().grown_bytes;
  acre_free(allocate_by(path + 1, kHuge + (size_t{8} << 20)));
  FAKE_OS_CHECK(profile::totals().grown_bytes == grown + kHuge + (size_t{8} << 20));
}

TEST(ProfileRefusals, GrowthIsCountedOrLeftOut) {
  bool seen[4] = {};
  for (long k = 0; k < 8; ++k) {
    for (long refused : {1L, kFromThereOn}) {
      long how = 0;
      EXPECT_EQ(in_child([&] { growth_with_refusals(k, refused); }, &how), "") << "request " << k << ", " << refused;
      if (how >= 1 && how <= 3) seen[how] = true;
    }
  }
  EXPECT_TRUE(seen[1]) << "the block was refused";
  EXPECT_TRUE(seen[2]) << "the block was there, and its growth could not be counted";
  EXPECT_TRUE(seen[3]) << "its growth was counted";
}

// --- Files ------------------------------------------------------------------------------------------------------

void write_with_a_refusal(const char* path, report::Kind kind, long k, long refused) {
  begin(0);
  void* block = acre_malloc(1000);
  unlink(path);
  os::testing::refuse_requests(k, refused);
  const long before = os::testing::requests_made();
  const int error = report::write_profile(path, kind);
  FAKE_OS_CHECK(error == 0 || error == EAGAIN);
  FAKE_OS_CHECK((access(path, F_OK) == 0) == (error == 0));  // all of it or nothing
  answer_with(error != 0 ? 0 : os::testing::requests_made() - before);
  os::testing::refuse_nothing();
  FAKE_OS_CHECK(report::write_profile(path, kind) == 0);
  acre_free(block);
}

TEST(ProfileRefusals, AFileIsWrittenOrTheRefusalIsTold) {
  using report::Kind;
  const std::string path = "/tmp/acre-fake-os-" + std::to_string(getpid());
  for (const Kind kind : {Kind::kLive, Kind::kPeak, Kind::kGrowth, Kind::kLegacy}) {
    SCOPED_TRACE(static_cast<int>(kind));
    long requests = 0;
    ASSERT_EQ(in_child([&] { write_with_a_refusal(path.c_str(), kind, kFromThereOn, 1); }, &requests), "");
    EXPECT_GT(requests, 0);
    for (long k = 0; k < requests; ++k) {
      for (long refused : {1L, kFromThereOn}) {
        long without = 1;
        EXPECT_EQ(in_child([&] { write_with_a_refusal(path.c_str(), kind, k, refused); }, &without), "") << k;
        EXPECT_EQ(without, 0) << "request " << k << " is needed";
      }
    }
  }
  unlink(path.c_str());
}

std::vector<std::string> files_in(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) names.push_back(entry.path().filename());
  return names;
}

// What the disk has no room for, as a limit on files' sizes has it.
void write_to_a_full_disk(const std::string& folder, report::Kind kind) {
  const std::string path = folder + "/profile";
  begin(0);
  std::vector<void*> blocks;
  for (unsigned way = 0; way < 500; ++way) blocks.push_back(allocate_by(way, 64));
  signal(SIGXFSZ, SIG_IGN);
  rlimit most;
  getrlimit(RLIMIT_FSIZE, &most);
  rlimit little = most;
  little.rlim_cur = 4096;
  setrlimit(RLIMIT_FSIZE, &little);
  FAKE_OS_CHECK(report::write_profile(path.c_str(), kind) == EFBIG);
  FAKE_OS_CHECK(files_in(folder).empty());
  setrlimit(RLIMIT_FSIZE, &most);
  FAKE_OS_CHECK(report::write_profile(path.c_str(), kind) == 0);
  const auto bytes = std::filesystem::file_size(path);
  setrlimit(RLIMIT_FSIZE, &little);
  FAKE_OS_CHECK(report::write_profile(path.c_str(), kind) == EFBIG);
  FAKE_OS_CHECK(files_in(folder) == std::vector<std::string>{"profile"});  // the one that was there
  FAKE_OS_CHECK(std::filesystem::file_size(path) == bytes);
  setrlimit(RLIMIT_FSIZE, &most);
  for (void* block : blocks) acre_free(block);
}

TEST(ProfileRefusals, AFullDiskLeavesNoFile) {
  using report::Kind;
  for (const Kind kind : {Kind::kLive, Kind::kPeak, Kind::kLegacy}) {
    const std::string folder = "/tmp/acre-fake-os-" + std::to_string(getpid());
    std::filesystem::create_directory(folder);
    EXPECT_EQ(in_child([&] { write_to_a_full_disk(folder, kind); }), "") << static_cast<int>(kind);
    std::filesystem::remove_all(folder);
  }
}

// A link leads where it led, and what is no file stays what it is. A name may leave no room for a longer one.
void write_to_a_link(const std::string& folder) {
  begin(0);
  const std::string link = folder + "/link", target = folder + "/target";
  std::filesystem::create_symlink(target, link);
  FAKE_OS_CHECK(report::write_profile(link.c_str(), report::Kind::kLive) == 0);
  FAKE_OS_CHECK(std::filesystem::is_symlink(link) && std::filesystem::is_regular_file(target));
  FAKE_OS_CHECK(report::write_profile("/dev/null", report::Kind::kLegacy) == 0);
  FAKE_OS_CHECK(std::filesystem::is_character_file("/dev/null"));
  const std::string longest = folder + '/' + std::string(255, 'n');
  FAKE_OS_CHECK(report::write_profile(longest.c_str(), report::Kind::kLive) == 0);
  FAKE_OS_CHECK(files_in(folder).size() == 3);
}

TEST(ProfileRefusals, WhatIsNoPlainFileIsWrittenTo) {
  const std::string folder = "/tmp/acre-fake-os-" + std::to_string(getpid());
  std::filesystem::create_directory(folder);
  EXPECT_EQ(in_child([&] { write_to_a_link(folder); }), "");
  std::filesystem::remove_all(folder);
}

// --- Whole scripts ----------------------------------------------------------------------------------------------

// All blocks sampled: so these are runs of sampled blocks and tables of samples that are refused.
void survive_sampled(const Script& script, long k, long refused) {
  begin(0);
  os::testing::refuse_requests(k, refused);
  survive(script);
  FAKE_OS_CHECK(profile::totals().live.blocks == 0 && profile::totals().allocated.blocks > 0);
}

class ProfileScripts : public testing::TestWithParam<size_t> {};

TEST_P(ProfileScripts, WithOneOfTheirRequestsRefused) {
  const Script& script = kScripts[GetParam()];
  long requests = 0;
  ASSERT_EQ(in_child(
                [&] {
                  begin(0);
                  const long before = os::testing::requests_made();
                  Blocks blocks;
                  script.run(blocks);
                  answer_with(os::testing::requests_made() - before);
                },
                &requests),
            "");
  ASSERT_GT(requests, 0);
  int failures = 0;
  for (long k = 0; k <= requests && failures < 3; ++k) {
    for (long refused : {1L, kFromThereOn}) {
      const std::string failure = in_child([&] { survive_sampled(script, k, refused); });
      EXPECT_EQ(failure, "") << script.name << ": request " << k << " of " << requests << " refused, " << refused;
      failures += !failure.empty();
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Scripts, ProfileScripts, testing::Range(size_t{0}, kScriptCount),
                         [](const auto& info) { return std::string(kScripts[info.param].name); });

}  // namespace
}  // namespace acre::fake_os
