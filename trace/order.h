// All events of a recording in an order that keeps what src/record/format.h guarantees: two events on one address come
// in the order in which they happened. Where the order is free, events come by their time, as far as lanes know it.
// Memory is bounded by the lanes that are open at a time, not by the file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <vector>

#include "decode.h"
#include "file.h"

namespace acre::trace {

const char* name_of(Ending ending);

struct Position {  // in a lane
  uint32_t block = 0;
  uint32_t offset = 0;
  auto operator<=>(const Position&) const = default;
};

struct ProcessFacts {
  uint32_t number = 0;
  uint32_t parent = kNone;
  uint64_t start_ticks = 0;
  bool has_end = false;
  Ending ending = Ending::kUnknown;
  uint32_t status = 0;  // exit code or signal
  uint64_t end_ticks = 0;
  bool lossy = false;  // parts of its lanes are missing: dropped, damaged or cut off
  // Nothing of it can come behind what the file has: it was seen to end.
  bool has_ended() const { return has_end && ending != Ending::kRuns && ending != Ending::kStopped; }
  std::map<uint32_t, Position> cuts;      // of a forked child: where the parent's lanes were
  // All that the parent's lane has there was before the fork: one that has no cut, and a smaller number than one that
  // has, had ended.
  bool was_before_fork(uint32_t lane, const Position& here) const {
    const auto cut = cuts.find(lane);
    return cut != cuts.end() ? here < cut->second : !cuts.empty() && lane < cuts.rbegin()->first;
  }
  std::map<uint32_t, uint32_t> threads;   // lane → the kernel's number
  std::map<uint32_t, std::string> names;  // lane → name at its start
};

struct Merged {
  const Event* event;
  uint32_t process;
  uint32_t lane;
  uint32_t thread;
  uint32_t block;
};

// What is wrong with the file, apart from what its events say.
struct Problem {
  enum Kind { kBlockDamaged, kUndecodable, kMissing, kNoOrder } kind;
  uint32_t process, lane, block;
  uint32_t offset;  // kUndecodable
  std::string text;
};

class ProcessOrder;

// Who may touch a shard, as far as the events by now say.
struct Shard {
  uint64_t epoch = 0;  // 0: no takeover yet
  uint32_t lane = kNone;
  uint64_t looks = 0;    // of the lane, up to its takeover
  uint64_t skipped = 0;  // epochs before it of which no takeover has come yet
};

class Order {
 public:
  explicit Order(Reader& reader, std::function<void(const Problem&)> report = {});
  ~Order();
  Order(const Order&) = delete;
  Order& operator=(const Order&) = delete;

  // The event holds until the next call.
  bool next(Merged& merged);

  const std::map<uint32_t, ProcessFacts>& processes() const { return facts_; }
  Shard shard(uint32_t process, unsigned number) const;
  // The lane has no more events, and did not say that it ends.
  bool any_lane_was_cut(uint32_t process) const;

 private:
  friend class ProcessOrder;
  struct Waiting {
    uint64_t ticks;
    uint32_t process;
    bool operator<(const Waiting& other) const {
      return ticks != other.ticks ? ticks > other.ticks : process > other.process;
    }
  };
  void collect_facts();
  bool may_begin(uint32_t process);
  void push(uint32_t process);

  Reader& reader_;
  std::function<void(const Problem&)> report_;
  std::map<uint32_t, ProcessFacts> facts_;
  std::map<uint32_t, std::unique_ptr<ProcessOrder>> orders_;
  std::priority_queue<Waiting> queue_;
  std::map<uint32_t, std::vector<uint32_t>> parked_;  // parent → children that wait for it
  uint32_t last_ = kNone;                             // whose event was handed out
};

// Converts ticks to time, by the pairs in the file.
class Clock {
 public:
  explicit Clock(Reader& reader);
  double seconds(uint64_t ticks) const;        // since the recording began
  uint64_t realtime_ns(uint64_t ticks) const;  // 0: unknown
  double ticks_per_second() const { return rate_; }

 private:
  std::vector<ClockPair> pairs_;
  double rate_ = 1e9;
};

}  // namespace acre::trace
