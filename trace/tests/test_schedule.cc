#include "schedule.h"

#include <cstring>
#include <random>

#include "build.h"
#include "replay/format.h"

namespace acre::trace::testing {
namespace {

using replay::Op;

constexpr uint64_t kFirst = 0x7f0000000000;

// Lanes that write down events which happen one after another, so that the file has them in this order.
class Recording {
 public:
  explicit Recording(unsigned lanes) : lanes_(lanes) {
    for (Encoder& lane : lanes_) lane.begin(1000, 0);
  }

  void allocate(unsigned lane, uint64_t address, uint64_t size, record::Kind kind = record::Kind::kPlain) {
    Encoder& encoder = at(lane, address);
    if (kind != record::Kind::kPlain) encoder.kind(kind, 6);
    encoder.allocate(size, address);
  }
  void free(unsigned lane, uint64_t address, record::Kind kind = record::Kind::kPlain) {
    Encoder& encoder = at(lane, address);
    if (kind != record::Kind::kPlain) encoder.kind(kind);
    encoder.free(address);
  }
  void resize(unsigned lane, uint64_t address, uint64_t size) { at(lane, address).resize(address, size); }

  void write(const std::string& path) {
    std::vector<BuiltBlock> blocks;
    for (uint32_t i = 0; i < lanes_.size(); ++i) {
      lanes_[i].end();
      blocks.push_back({0, i, 0, 1000, 0, lanes_[i].bytes, static_cast<uint32_t>(events_)});
    }
    write_file(path, blocks);
  }

 private:
  Encoder& at(unsigned lane, uint64_t address) {
    ++events_;
    now_ += 10;
    const unsigned shard = record::shard_of(address);
    const auto owner = owners_.find(shard);
    if (owner == owners_.end() || owner->second.first != lane) {
      const uint64_t epoch = owner == owners_.end() ? 1 : owner->second.second + 1;
      owners_[shard] = {lane, epoch};
      lanes_[lane].time(now_);
      lanes_[lane].takeover(shard, epoch, ++counter_);
      for (Encoder& other : lanes_) {
        if (&other == &lanes_[lane]) continue;
        other.time(now_);
        other.sync(counter_);
      }
    } else {
      lanes_[lane].time(now_);
    }
    return lanes_[lane];
  }

  std::vector<Encoder> lanes_;
  std::map<unsigned, std::pair<unsigned, uint64_t>> owners_;  // shard → lane, epoch
  uint64_t now_ = 1000, counter_ = 0, events_ = 0;
};

// A schedule as the player sees it, and what becomes of it if threads go on in some order that waits allow.
class Simulation {
 public:
  explicit Simulation(const std::string& path) : bytes_(bytes_of(path)) {
    take(0, header);
    for (uint32_t i = 0; i < header.threads; ++i) {
      replay::ThreadEntry entry;
      take(header.threads_offset + i * sizeof entry, entry);
      std::vector<uint64_t>& words = threads.emplace_back();
      for (uint64_t at = entry.first_piece; at != 0;) {
        replay::Piece piece;
        take(at, piece);
        for (uint64_t n = 0; n < piece.words; ++n) take(at + sizeof piece + 8 * n, words.emplace_back());
        at = piece.next;
      }
      EXPECT_EQ(words.size(), entry.words);
    }
    for (uint64_t i = 0; i < header.samples; ++i) {
      take(header.samples_offset + i * sizeof(replay::Sample), samples.emplace_back());
    }
  }

  // The first thing that cannot be, or nothing.
  std::string play(uint64_t seed, bool heeds_waits = true) {
    std::mt19937_64 random(seed);
    std::vector<size_t> at(threads.size()), done(threads.size());
    std::vector<bool> runs(threads.size());
    std::vector<std::optional<uint64_t>> slots(header.slots);
    runs[0] = true;
    std::vector<uint64_t> high(threads.size());
    uint64_t live = 0, operations = 0;
    for (unsigned idle = 0; idle < 1000;) {
      const size_t thread = random() % threads.size();
      ++idle;
      // A few words at a time.
      for (uint64_t left = random() % 20; left > 0 && runs[thread] && at[thread] < threads[thread].size(); --left) {
        const uint64_t word = threads[thread][at[thread]];
        const uint32_t number = replay::slot_of(word), value = replay::value_of(word);
        const auto op = static_cast<Op>(replay::op_of(word));
        if (op == Op::kWait && heeds_waits && done[number] <= value) break;
        idle = 0;
        ++at[thread];
        if (op <= Op::kSizedFree) {
          ++operations;
          std::optional<uint64_t>& slot = slots[number];
          if (slot.has_value() != (op >= Op::kRealloc)) return "a slot is not as it should be";
          live -= slot.value_or(0);
          slot = op >= Op::kFree ? std::optional<uint64_t>() : (high[thread] << 32 | value);
          live += slot.value_or(0);
          high[thread] = 0;
        } else if (op == Op::kWide) {
          high[thread] = value;
        } else if (op == Op::kStart) {
          runs[number] = true;
        } else if (op == Op::kSample && live != samples[value].live_bytes) {
          return "other bytes live";
        }
        if (word & replay::kPosted) done[thread] = at[thread];
      }
    }
    for (size_t i = 0; i < threads.size(); ++i) {
      if (at[i] != threads[i].size()) return "a thread waits for ever";
    }
    return operations == header.operations ? "" : "operations are missing";
  }

  replay::Header header;
  std::vector<std::vector<uint64_t>> threads;
  std::vector<replay::Sample> samples;

 private:
  template <class T>
  void take(uint64_t offset, T& to) {
    ASSERT_LE(offset + sizeof(T), bytes_.size());
    memcpy(&to, bytes_.data() + offset, sizeof(T));
  }
  std::vector<uint8_t> bytes_;
};

ScheduleResult scheduled(const Folder& folder, std::optional<uint32_t> process = {}) {
  ScheduleOptions options;
  options.path = folder / "a";
  options.output = folder / "a.schedule";
  options.process = process;
  return make_schedule(options);
}

TEST(Schedule, PlaysInEachOrderThatWaitsAllow) {
  const Folder folder;
  unsigned wrong_without_waits = 0;
  for (uint64_t seed = 1; seed <= 25; ++seed) {
    std::mt19937_64 random(seed);
    const auto lanes = static_cast<unsigned>(1 + random() % 5);
    Recording recording(lanes);
    std::map<uint64_t, uint64_t> live;
    std::vector<uint64_t> curve, free;
    uint64_t bytes = 0, next = kFirst;
    size_t most = 0;
    constexpr unsigned kEvents = 600;
    for (unsigned i = 0; i < kEvents; ++i) {
      const auto lane = static_cast<unsigned>(random() % lanes);
      const uint64_t size = random() % 50 == 0 ? (uint64_t{5} << 32) + random() % 100 : random() % 5000;
      uint64_t address = next;
      const auto new_address = [&] {
        if (free.empty() || random() % 2 == 0) return next += 8192;
        std::swap(free[random() % free.size()], free.back());
        const uint64_t found = free.back();
        free.pop_back();
        return found;
      };
      if (live.empty() || random() % 100 < 55) {
        address = new_address();
        constexpr record::Kind kKinds[] = {record::Kind::kPlain, record::Kind::kZeroed, record::Kind::kAligned};
        recording.allocate(lane, address, size, kKinds[random() % 3]);
        live[address] = size;
        bytes += size;
      } else {
        auto block = live.begin();
        std::advance(block, random() % live.size());
        bytes -= block->second;
        const unsigned what = random() % 4;
        if (what == 0) {
          recording.resize(lane, block->first, size);
          block->second = size;
          bytes += size;
        } else if (what == 1) {
          address = new_address();
          const bool is_left_first = random() % 2 == 0;
          if (is_left_first) recording.free(lane, block->first, record::Kind::kReallocFrom);
          recording.allocate(lane, address, size, record::Kind::kReallocTo);
          if (!is_left_first) recording.free(lane, block->first, record::Kind::kReallocFrom);
          free.push_back(block->first);
          live.erase(block);
          live[address] = size;
          bytes += size;
        } else {
          recording.free(lane, block->first, what == 2 ? record::Kind::kSized : record::Kind::kPlain);
          free.push_back(block->first);
          live.erase(block);
        }
      }
      most = std::max(most, live.size());
      curve.push_back(bytes);
    }
    recording.write(folder / "a");
    const ScheduleResult result = scheduled(folder);
    ASSERT_EQ(result.error, "");
    EXPECT_EQ(result.operations, kEvents);
    EXPECT_EQ(result.slots, most);
    EXPECT_EQ(result.earlier + result.contradictions + result.lost + result.problems, 0u);
    EXPECT_EQ(result.peak_bytes, *std::max_element(curve.begin(), curve.end()));
    Simulation simulation(folder / "a.schedule");
    for (uint64_t order = 0; order < 8; ++order) EXPECT_EQ(simulation.play(order), "") << seed;
    wrong_without_waits += simulation.play(0, false) != "";
    // Each sample is what lived at some event, in their order.
    ASSERT_GT(simulation.samples.size(), 6u);
    auto at = curve.begin();
    for (const replay::Sample& sample : simulation.samples) {
      at = std::find(at, curve.end(), sample.live_bytes);
      EXPECT_NE(at, curve.end()) << seed;
    }
    EXPECT_EQ(simulation.samples.back().live_bytes, bytes);
  }
  EXPECT_GT(wrong_without_waits, 12u);
}

TEST(Schedule, AThreadWaitsOnlyWhereItDependsOnAnother) {
  const Folder folder;
  Recording recording(2);
  for (uint64_t i = 0; i < 8; ++i) recording.allocate(0, kFirst + 64 * i, 64);
  for (uint64_t i = 0; i < 4; ++i) recording.allocate(1, kFirst + (1 << 20) + 64 * i, 64);
  recording.free(1, kFirst);
  recording.write(folder / "a");
  const ScheduleResult result = scheduled(folder);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.threads, 3u);  // of the main thread there is no event
  EXPECT_EQ(result.waits, 2u);    // for the block, and at the end, where all meet
}

TEST(Schedule, AForkedChildBeginsWithItsParentsBlocks) {
  const Folder folder;
  Encoder parent, child;
  const unsigned shard = record::shard_of(kFirst);
  parent.begin(1000, 0);
  parent.takeover(shard, 1, 1);
  parent.time(2000);
  for (uint64_t i = 0; i < 3; ++i) parent.allocate(100 + i, kFirst + 128 * i);
  parent.free(kFirst);
  const auto cut = static_cast<uint32_t>(parent.bytes.size());
  parent.time(9000);
  parent.free(kFirst + 128);  // after the fork
  parent.end();
  child.begin(3000, 0);
  child.cut(0, 0, cut);
  child.takeover(shard, 2, 2);
  child.free(kFirst + 128);
  child.free(kFirst + 640);  // of which nothing is known
  child.allocate(40, kFirst + 128);
  child.end();
  write_file(folder / "a",
             {{0, 0, 0, 1000, 0, parent.bytes, 5}, {1, 0, 0, 3000, 0, child.bytes, 3}}, {{0, kNone}, {1, 0}});
  ScheduleResult result = scheduled(folder, 1);
  EXPECT_EQ(result.error, "");
  EXPECT_EQ(result.inherited, 2u);
  EXPECT_EQ(result.earlier, 1u);
  EXPECT_EQ(result.operations, 4u);
  EXPECT_EQ(result.peak_bytes, 203u);
  EXPECT_EQ(result.other_events, 5u);
  Simulation simulation(folder / "a.schedule");
  EXPECT_EQ(simulation.play(1), "");
  EXPECT_EQ(simulation.samples.back().live_bytes, 142u);
  result = scheduled(folder);
  EXPECT_EQ(result.process, 0u);  // which has the most events
  EXPECT_EQ(result.inherited, 0u);
  EXPECT_NE(scheduled(folder, 7).error, "");
}

TEST(Schedule, AnyByteMayBeWrong) {
  const Folder folder;
  Recording recording(3);
  for (unsigned i = 0; i < 40; ++i) {
    recording.allocate(i % 3, kFirst + 64 * i, 64);
    if (i > 2) recording.free((i + 1) % 3, kFirst + 64 * (i - 3));
  }
  recording.write(folder / "whole");
  const std::vector<uint8_t> whole = bytes_of(folder / "whole");
  for (size_t at = 0; at < whole.size(); at += 5) {
    std::vector<uint8_t> bytes = whole;
    bytes[at] ^= static_cast<uint8_t>(1 + at % 255);
    write_bytes(folder / "a", bytes);
    if (scheduled(folder).error.empty()) {
      EXPECT_EQ(Simulation(folder / "a.schedule").play(at), "") << at;
    }
  }
}

TEST(Schedule, AFullDiskIsSaid) {
  const Folder folder;
  Recording recording(1);
  recording.allocate(0, kFirst, 64);
  recording.write(folder / "a");
  ScheduleOptions options;
  options.path = folder / "a";
  options.output = "/no/such/folder/a";
  EXPECT_EQ(make_schedule(options).error, "cannot write '/no/such/folder/a': No such file or directory");
  options.output = "/dev/full";
  EXPECT_NE(make_schedule(options).error, "");
  EXPECT_EQ(access("/dev/full", F_OK), 0);
}

}  // namespace
}  // namespace acre::trace::testing
