// Every script, with every one of its requests refused in turn: that one alone, or that one and all after it.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <vector>

#include "acre/acre.h"
#include "blocks.h"
#include "child.h"
#include "os/os.h"
#include "scripts.h"

namespace acre::fake_os {
namespace {

constexpr long kAlone = 1;

long requests_of(const Script& script) {
  long requests = 0;
  const std::string failure = in_child(
      [&] {
        const long before = os::testing::requests_made();
        Blocks blocks;
        script.run(blocks);
        FAKE_OS_CHECK(blocks.refused() == 0);
        answer_with(os::testing::requests_made() - before);
      },
      &requests);
  EXPECT_EQ(failure, "");
  return requests;
}

class Refusals : public testing::TestWithParam<std::tuple<size_t, long>> {
 protected:
  const Script& script = kScripts[std::get<0>(GetParam())];
  const long refused = std::get<1>(GetParam());
};

TEST_P(Refusals, OfEveryRequest) {
  const long requests = requests_of(script);
  ASSERT_GT(requests, 0);
  RecordProperty("requests", static_cast<int>(requests));
  int failures = 0;
  for (long k = 0; k <= requests && failures < 3; ++k) {
    const std::string failure = in_child([&] {
      os::testing::refuse_requests(k, refused);
      survive(script);
    });
    EXPECT_EQ(failure, "") << script.name << ": request " << k << " of " << requests << " refused";
    failures += !failure.empty();
  }
}

std::string name_of_refusals(const testing::TestParamInfo<Refusals::ParamType>& info) {
  const bool alone = std::get<1>(info.param) == kAlone;
  return std::string(kScripts[std::get<0>(info.param)].name) + (alone ? "_alone" : "_from_there_on");
}
INSTANTIATE_TEST_SUITE_P(Scripts, Refusals,
                         testing::Combine(testing::Range(size_t{0}, kScriptCount),
                                          testing::Values(kAlone, kFromThereOn)),
                         name_of_refusals);

// Start-up too, which reserves the table of headers and places the window: its are the first two.
class RefusalsAtStart : public testing::TestWithParam<size_t> {};

TEST_P(RefusalsAtStart, OfEachOfTheFirstRequests) {
  const std::string script = std::to_string(GetParam());
  const int most = GetParam() < 2 ? 15 : 3;
  for (int k = 0; k < most; ++k) {
    for (const char* refused : {",1", ",2", ",1000000000"}) {
      const std::string refuse = std::to_string(k) + refused;
      EXPECT_EQ(in_new_image("survive", script, refuse, ""), "") << "refused: " << refuse;
    }
  }
}

TEST_P(RefusalsAtStart, OptionsThatChangeWhereMemoryComesFrom) {
  const std::string script = std::to_string(GetParam());
  for (const char* conf : {"unit_table:0", "dirty_decay_ms:0", "thread_cache_max:0,arenas:1", "chunk:2M",
                            "dirty_decay_ms:0,muzzy_decay_ms:5,background_thread:true"}) {
    EXPECT_EQ(in_new_image("succeed", script, "0,0", conf), "") << conf;
  }
}

// It succeeds, and survives: of its requests the first are refused one by one, and all from each of them on; where
// scripts are long, every fifth.
void expect_survival(size_t script, long refusals, const char* conf) {
  long requests = 0;
  EXPECT_EQ(in_new_image("succeed", std::to_string(script), "0,0", conf, &requests), "") << conf;
  EXPECT_GT(requests, 0);
  for (long k = 0; k < std::min(refusals, requests); k += script < 2 ? 1 : 5) {
    for (const char* refused : {",1", ",1000000000"}) {
      const std::string refuse = std::to_string(k) + refused;
      const std::string ended = in_new_image("survive", std::to_string(script), refuse, conf);
      EXPECT_EQ(ended, "") << "refused: " << refuse << ' ' << conf;
    }
  }
}

TEST_P(RefusalsAtStart, WhileBlocksAreFilled) {
  expect_survival(GetParam(), 24, "junk:true");
  EXPECT_EQ(in_new_image("succeed", std::to_string(GetParam()), "0,0", "zero:true,junk:free"), "");
}

// Sampling begins before the program does.
TEST_P(RefusalsAtStart, WhileBlocksAreSampled) {
  for (const char* conf : {"prof:true,prof_sample:0", "prof:true,prof_sample:4K"}) expect_survival(GetParam(), 16, conf);
}

// Without the table: everything goes on, only slower.
TEST_P(RefusalsAtStart, WithoutTheWindowAllSucceeds) {
  const std::string script = std::to_string(GetParam());
  EXPECT_EQ(in_new_image("succeed", script, "0,1", ""), "") << "the reservation refused";
  EXPECT_EQ(in_new_image("succeed", script, "1,1", ""), "") << "its first part refused";
}
INSTANTIATE_TEST_SUITE_P(Scripts, RefusalsAtStart, testing::Range(size_t{0}, kScriptCount),
                         [](const auto& info) { return std::string(kScripts[info.param].name); });

// How many blocks of this size there are when there is no more memory; they are free again at the end.
size_t count_all(size_t size) {
  std::vector<void*> blocks;
  while (void* block = acre_malloc(size)) blocks.push_back(block);
  for (void* block : blocks) acre_free(block);
  return blocks.size();
}

// What a thread keeps for itself (current runs, private lists, runs on its lists) is not memory that lacks. How well
// runs of several lengths fit together depends on the order.
void use_everything_by_turns() {
  acre_free(acre_malloc(1));
  os::testing::refuse_requests(0, kFromThereOn);
  const size_t sizes[] = {32768, 4096, 20000, 48, 100000, 3 << 20};
  size_t at_first[std::size(sizes)];
  for (size_t i = 0; i < std::size(sizes); ++i) {
    at_first[i] = count_all(sizes[i]);
    acre_malloc_trim(0);
  }
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < std::size(sizes); ++i) FAKE_OS_CHECK(count_all(sizes[i]) >= at_first[i] - at_first[i] / 16);
  }
}

TEST(LastResort, TheThreadCacheIsGivenUpBeforeARequestIsRefused) {
  EXPECT_EQ(in_child(use_everything_by_turns), "");
}

}  // namespace
}  // namespace acre::fake_os

int main(int argc, char** argv) {
  acre::fake_os::run_body_if_image();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
