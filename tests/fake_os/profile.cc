// The heap profiler while memory is refused: what it cannot note it leaves out, the program's blocks are as ever, and
// when there is memory again it goes on.
#include "sample/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
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
  os::testing::refuse_requests(k, refused);
  const long before = os::testing::requests_made();
  const int error = report::write_profile(path, kind);
  FAKE_OS_CHECK(error == 0 || error == EAGAIN);
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

// --- Whole scripts ----------------------------------------------------------------------------------------------

// All blocks sampled: so these are runs of watched blocks and tables of samples that are refused.
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
