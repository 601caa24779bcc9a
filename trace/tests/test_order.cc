#include <random>

#include "build.h"
#include "check.h"
#include "order.h"

namespace acre::trace::testing {
namespace {

constexpr uint64_t kBase = 0x7f0000000000;
constexpr unsigned kShard = record::shard_of(kBase);

std::vector<std::string> merged(const std::string& path, std::vector<std::string>* problems = nullptr) {
  Reader reader;
  EXPECT_TRUE(reader.open(path)) << reader.error();
  Order order(reader, [&](const Problem& problem) {
    if (problems != nullptr)
      problems->push_back(problem.text);
    else
      ADD_FAILURE() << problem.text;
  });
  std::vector<std::string> found;
  Merged event;
  while (order.next(event)) {
    if (!is_of_block(event.event->what)) continue;
    found.push_back(std::to_string(event.lane) + (event.event->what == What::kFree ? "f" : "m") +
                    std::to_string((event.event->address - kBase) / 16));
  }
  return found;
}

using Names = std::vector<std::string>;

BuiltBlock block(uint32_t lane, const Encoder& encoder, uint64_t ticks = 0, uint64_t seen = 0, uint32_t number = 0,
                 uint32_t process = 0) {
  return {process, lane, number, ticks, seen, encoder.bytes, 0};
}

TEST(Order, FollowsTimeWhereItIsFree) {
  const Folder folder;
  Encoder a, b;
  a.begin(0, 0);
  b.begin(0, 0);
  a.takeover(kShard, 1, 1);
  b.takeover(kShard + 1, 1, 2);
  for (uint64_t i = 0; i < 4; ++i) {
    a.time(100 + 100 * i);
    a.allocate(16, kBase + 16 * i);
    b.time(150 + 100 * i);
    b.allocate(16, kBase + 32768 + 16 * i);
  }
  write_file(folder / "a", {block(0, a), block(1, b)});
  EXPECT_EQ(merged(folder / "a"), (Names{"0m0", "1m2048", "0m1", "1m2049", "0m2", "1m2050", "0m3", "1m2051"}));
}

// By its clock the free came first.
TEST(Order, ATakeoverComesAfterTheLastLane) {
  const Folder folder;
  Encoder a, b;
  a.begin(1000, 0);
  a.takeover(kShard, 1, 1);
  a.allocate(16, kBase);
  a.sync(1);
  a.allocate(16, kBase + 16);  // it has not seen number 1 yet
  a.sync(2);
  a.time(9000);
  a.takeover(kShard, 3, 6);
  a.allocate(16, kBase);
  a.end();
  b.begin(10, 0);
  b.takeover(kShard, 2, 2);
  b.free(kBase);
  b.end();
  write_file(folder / "a", {block(0, a), block(1, b, 10)});
  EXPECT_EQ(merged(folder / "a"), (Names{"0m0", "0m1", "1f0", "0m0"}));
  EXPECT_EQ(check_file(folder / "a").problems, 0u);
}

TEST(Order, ABlocksBeginningTellsWhatWasSeen) {
  const Folder folder;
  Encoder a, next, b;
  a.begin(0, 0);
  a.takeover(kShard, 1, 1);
  a.allocate(16, kBase);
  next.begin(0, 8);
  next.takeover(kShard, 3, 10);
  next.allocate(16, kBase);
  b.begin(50, 0);
  b.takeover(kShard, 2, 8);
  b.free(kBase);
  write_file(folder / "a", {block(0, next, 20, 8, 1), block(1, b, 50), block(0, a)});
  EXPECT_EQ(merged(folder / "a"), (Names{"0m0", "1f0", "0m0"}));
}

TEST(Order, AShardThatWasTakenBackBeforeTheNumber) {
  const Folder folder;
  // Lane 1 takes epoch 2, lane 0 takes epoch 3 and number 2 before lane 1 gets number 3; it sees that and takes epoch
  // 4.
  Encoder a, b;
  a.begin(0, 0);
  a.takeover(kShard, 1, 1);
  a.allocate(16, kBase);
  a.takeover(kShard, 3, 2);
  a.free(kBase);
  a.end();
  b.begin(0, 0);
  b.takeover(kShard, 2, 3);
  b.takeover(kShard, 4, 4);
  b.allocate(16, kBase);
  b.end();
  write_file(folder / "a", {block(0, a), block(1, b)});
  EXPECT_EQ(merged(folder / "a"), (Names{"0m0", "0f0", "1m0"}));
  const CheckResult result = check_file(folder / "a");
  EXPECT_EQ(result.problems, 0u) << result.first_problems[0];
}

TEST(Order, WhatCannotBeIsFound) {
  const Folder folder;
  const auto problems_of = [&](const std::vector<BuiltBlock>& blocks) {
    write_file(folder / "a", blocks);
    const CheckResult result = check_file(folder / "a");
    EXPECT_EQ(result.problems != 0, !result.first_problems.empty());
    return result.first_problems.empty() ? std::string()
                                         : result.first_problems[0].substr(result.first_problems[0].rfind(": ") + 2);
  };
  Encoder a, b;
  const auto begin = [&] {
    a.begin(0, 0);
    b.begin(0, 0);
    a.takeover(kShard, 1, 1);
  };
  begin();
  a.allocate(16, kBase);
  a.allocate(16, kBase);
  EXPECT_EQ(problems_of({block(0, a)}), "block 0x7f0000000000 is given out while it lives");
  begin();
  a.allocate(16, kBase);
  a.free(kBase);
  a.free(kBase);
  EXPECT_EQ(problems_of({block(0, a)}), "block 0x7f0000000000 is freed, and does not live");
  begin();
  a.free(kBase);  // from before
  a.resize(kBase + 16, 20);
  a.free(kBase + 16);
  EXPECT_EQ(problems_of({block(0, a)}), "");
  begin();
  a.free(kBase);
  a.resize(kBase, 20);
  EXPECT_EQ(problems_of({block(0, a)}), "block 0x7f0000000000 is resized, and does not live");
  begin();
  a.allocate(16, kBase);
  b.free(kBase);  // a takeover is left out
  EXPECT_EQ(problems_of({block(0, a), block(1, b)}),
            "block 0x7f0000000000 is touched by a lane that does not have its shard");
  begin();
  a.allocate(16, kBase);
  b.takeover(kShard, 1, 2);
  b.free(kBase);
  EXPECT_EQ(problems_of({block(0, a), block(1, b)}),
            "two lanes say that they took shard " + std::to_string(kShard) + " over in its epoch 1");
  begin();
  a.allocate(16, kBase);
  b.takeover(kShard, 3, 2);
  b.free(kBase);
  EXPECT_EQ(problems_of({block(0, a), block(1, b)}), "");  // a thread may have been killed before it wrote that
  a.end();
  b.end();
  EXPECT_EQ(problems_of({block(0, a), block(1, b)}), "1 takeovers of shard " + std::to_string(kShard) + " are missing");
  begin();
  a.allocate(16, kBase);
  EXPECT_EQ(problems_of({block(0, a, 0, 0, 0), block(0, a, 0, 0, 2)}), "blocks 1 to 1 are missing");
  a.bytes.push_back(0xff);
  EXPECT_EQ(problems_of({block(0, a)}), "there is no such event");
}

// A recording that was cut off before a lane's first block was filled.
TEST(Order, ALaneOfWhichNothingIsThereExcuses) {
  const Folder folder;
  Encoder a;
  a.begin(0, 0);
  a.takeover(kShard, 1, 1);
  a.allocate(16, kBase);  // lane 1 frees it
  a.takeover(kShard, 3, 3);
  a.allocate(16, kBase);
  for (const bool other_is_known : {true, false}) {
    Writer writer;
    ASSERT_TRUE(writer.open(folder / "a", new_file_header(0)));
    ASSERT_TRUE(write_process(writer, 0));
    for (uint32_t lane = 0; lane < (other_is_known ? 2 : 1); ++lane) {
      ChunkHeader header;
      header.type = ChunkType::kThread;
      header.process = 0;
      header.lane = lane;
      ASSERT_TRUE(writer.write(header, std::string_view("thread")));
    }
    ASSERT_TRUE(writer.write(header_of(block(0, a)), std::span<const uint8_t>(a.bytes)));
    const CheckResult result = check_file(folder / "a");
    EXPECT_EQ(result.problems, other_is_known ? 0u : 1u);
    EXPECT_EQ(result.excused, other_is_known ? 1u : 0u);
  }
}

// A child frees what its parent had allocated before the fork, and only that.
TEST(Order, AForkedChildHasItsParentsBlocks) {
  const Folder folder;
  Encoder parent, other, child;
  parent.begin(0, 0);
  other.begin(0, 0);
  parent.takeover(kShard, 1, 1);
  other.takeover(kShard + 1, 1, 2);
  parent.allocate(16, kBase);
  parent.allocate(16, kBase + 16);
  parent.free(kBase + 16);
  other.time(5000);  // by its clock far behind the fork
  other.allocate(16, kBase + 32768);
  const auto at = static_cast<uint32_t>(parent.bytes.size()), other_at = static_cast<uint32_t>(other.bytes.size());
  parent.free(kBase);
  parent.allocate(16, kBase + 32);
  parent.end();
  other.free(kBase + 32768);
  other.end();
  child.begin(10, 0);
  child.cut(0, 0, at);
  child.cut(1, 0, other_at);
  child.takeover(kShard, 1, 1);
  child.takeover(kShard + 1, 1, 2);
  child.free(kBase);
  child.free(kBase + 32768);
  child.allocate(16, kBase + 32);  // the parent's is of its own
  child.end();
  const std::vector<BuiltBlock> blocks = {block(0, parent), block(1, other), block(0, child, 10, 0, 0, 1)};
  write_file(folder / "a", blocks, {{0, kNone}, {1, 0}});
  const CheckResult sound = check_file(folder / "a");
  EXPECT_EQ(sound.problems, 0u) << sound.first_problems[0];
  EXPECT_EQ(sound.before, 0u);
  // One that the parent has allocated after the fork is not the child's: it does not know it.
  child.bytes.pop_back();
  child.free(kBase);
  std::vector<BuiltBlock> wrong = {block(0, parent), block(1, other), block(0, child, 10, 0, 0, 1)};
  write_file(folder / "b", wrong, {{0, kNone}, {1, 0}});
  EXPECT_EQ(check_file(folder / "b").problems, 1u);
}

// Its shards have epochs from before the fork, of which it has no takeovers.
TEST(Order, AForkedChildsEpochsGoOn) {
  const Folder folder;
  Encoder parent, a, b;
  parent.begin(0, 0);
  parent.takeover(kShard, 1, 1);
  parent.allocate(16, kBase);
  const auto at = static_cast<uint32_t>(parent.bytes.size());
  parent.end();
  a.begin(1000, 0);
  a.cut(0, 0, at);
  a.takeover(kShard, 8, 1);
  a.free(kBase);
  a.end();
  b.begin(500, 0);  // its clock is behind
  b.takeover(kShard, 9, 2);
  b.allocate(16, kBase);
  b.end();
  write_file(folder / "a", {block(0, parent), block(7, a, 1000, 0, 0, 1), block(8, b, 500, 0, 0, 1)},
             {{0, kNone}, {1, 0}});
  EXPECT_EQ(merged(folder / "a"), (Names{"0m0", "7f0", "8m0"}));
  const CheckResult result = check_file(folder / "a");
  EXPECT_EQ(result.problems, 0u) << result.first_problems[0];
  EXPECT_EQ(result.before, 0u);
}

// --- Random schedules ---------------------------------------------------------------------------------------------
//
// Threads as the library has them, one step at a time in a random order, with clocks that differ: the merged order of
// each address has to be the one in which things happened.

class Schedule {
 public:
  Schedule(uint64_t seed, unsigned lanes) : random_(seed), lanes_(lanes) {
    for (unsigned i = 0; i < lanes; ++i) {
      lanes_[i].skew = random_() % 3 == 0 ? random_() % 20000 : 0;
      lanes_[i].encoder.begin(time(i), 0);
      lanes_[i].first_ticks = time(i);
    }
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      now_ += random_() % 20;
      step(static_cast<unsigned>(random_() % lanes_.size()));
    }
    for (unsigned i = 0; i < lanes_.size(); ++i) {
      while (lanes_[i].stage != 0) step(i);
      lanes_[i].encoder.end();
      close(i);
    }
  }

  std::vector<BuiltBlock> blocks;
  std::map<uint64_t, std::vector<std::pair<unsigned, bool>>> truth;  // address → lane, is it an allocation

 private:
  struct Lane {
    Encoder encoder;
    uint64_t skew = 0, first_ticks = 0, first_seen = 0;
    uint32_t block = 0;
    int stage = 0;  // 0: idle; 1: looks at the word; 2: takes a number; 3: writes
    bool allocates = false;
    uint64_t address = 0, epoch = 0, number = 0;
  };

  uint64_t time(unsigned i) const { return 100000 + now_ + lanes_[i].skew; }

  void close(unsigned i) {
    Lane& lane = lanes_[i];
    blocks.push_back({0, i, lane.block, lane.first_ticks, lane.first_seen, lane.encoder.bytes, 0});
  }

  void step(unsigned i) {
    Lane& lane = lanes_[i];
    const auto shard = static_cast<unsigned>(lane.address >> 15);
    switch (lane.stage) {
      case 0:
        if (random_() % 8 == 0) lane.encoder.time(time(i));
        if (random_() % 8 == 0) lane.encoder.sync(counter_);
        if (random_() % 30 == 0) {
          close(i);
          lane.first_ticks = time(i);
          lane.first_seen = counter_;
          ++lane.block;
          lane.encoder.begin(lane.first_ticks, counter_);
        }
        lane.allocates = live_.empty() || random_() % 2 == 0;
        if (lane.allocates) {
          if (!free_.empty() && random_() % 4 != 0) {
            lane.address = free_.back();
            free_.pop_back();
          } else {
            lane.address = kBase + (next_ += 4096);
          }
        } else {
          const size_t at = random_() % live_.size();
          lane.address = live_[at];
          live_[at] = live_.back();
          live_.pop_back();
        }
        lane.stage = 1;
        break;
      case 1:
        if (words_[shard].lane == i + 1) {
          lane.stage = 3;
        } else {
          words_[shard] = {words_[shard].epoch + 1, i + 1};
          lane.epoch = words_[shard].epoch;
          lane.stage = 2;
        }
        break;
      case 2:
        lane.number = ++counter_;
        lane.encoder.takeover(record::shard_of(lane.address), lane.epoch, lane.number);
        lane.stage = 3;
        break;
      default:
        if (lane.allocates)
          lane.encoder.allocate(100, lane.address);
        else
          lane.encoder.free(lane.address);
        truth[lane.address].emplace_back(i, lane.allocates);
        (lane.allocates ? live_ : free_).push_back(lane.address);
        lane.stage = 0;
        break;
    }
  }

  struct Word {
    uint64_t epoch = 0;
    unsigned lane = 0;
  };
  std::mt19937_64 random_;
  std::vector<Lane> lanes_;
  std::map<unsigned, Word> words_;
  std::vector<uint64_t> free_, live_;
  uint64_t now_ = 0, next_ = 0, counter_ = 0;
};

TEST(Order, OfEachAddressIsWhatHappened) {
  const Folder folder;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    Schedule schedule(seed, 2 + static_cast<unsigned>(seed % 5));
    schedule.run(20000);
    write_file(folder / "a", schedule.blocks);
    const CheckResult result = check_file(folder / "a");
    ASSERT_EQ(result.problems, 0u) << "seed " << seed << ": " << result.first_problems[0];
    Reader reader;
    ASSERT_TRUE(reader.open(folder / "a"));
    Order order(reader);
    std::map<uint64_t, std::vector<std::pair<unsigned, bool>>> found;
    Merged event;
    while (order.next(event)) {
      if (is_of_block(event.event->what)) {
        found[event.event->address].emplace_back(event.lane, event.event->what == What::kAllocate);
      }
    }
    ASSERT_EQ(found, schedule.truth) << "seed " << seed;
  }
}

// Whatever part is missing, the rest is read, and nothing is called wrong that the missing part explains.
TEST(Order, MissingPartsExcuseWhatFollows) {
  const Folder folder;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Schedule schedule(seed, 2 + static_cast<unsigned>(seed % 5));
    schedule.run(5000);
    std::mt19937_64 random(seed);
    std::vector<BuiltBlock> blocks = schedule.blocks;
    size_t events = 0;
    for (size_t left = 1 + random() % 5; left > 0; --left)
      blocks.erase(blocks.begin() + static_cast<long>(random() % blocks.size()));
    write_file(folder / "a", blocks);
    std::vector<std::string> problems;
    events = merged(folder / "a", &problems).size();
    EXPECT_GT(events, 100u);
    for (const std::string& problem : problems)
      EXPECT_NE(problem.find("missing"), std::string::npos) << seed << problem;
  }
}

}  // namespace
}  // namespace acre::trace::testing
