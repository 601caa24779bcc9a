// The lanes of one process, merged.
#pragma once

#include <memory>
#include <queue>
#include <unordered_map>
#include <vector>

#include "order.h"

namespace acre::trace {

class ProcessOrder {
 public:
  ProcessOrder(Order& order, uint32_t process, ProcessFacts& facts);

  // A chunk of events, in any order; then begin().
  void add(uint32_t chunk);
  void begin(uint64_t slack_ticks);

  // The time of the next event. False: there is none.
  bool peek(uint64_t& ticks);
  void take(Merged& merged);  // the event that peek() has found
  void advance();             // behind it

  bool has_passed(const ProcessFacts& child);
  Shard shard(unsigned number) const { return shards_.empty() ? Shard{} : shards_[number]; }
  bool any_lane_was_cut() const { return was_cut_; }
  // The events kCut, which stand at the beginning of its first lane.
  void read_cuts();

 private:
  struct Lane {
    uint32_t number = 0;
    uint32_t thread = 0;
    std::vector<uint32_t> chunks;
    size_t next_chunk = 0;
    uint32_t block = 0;
    std::vector<uint8_t> bytes;
    std::unique_ptr<Decoder> decoder;
    Event event;
    uint64_t ticks = 0;  // of the next event, or of the block where it is not open yet
    uint64_t reach = 0;  // takeovers up to this number were seen before the next event, or are it
    uint64_t looks = 0;  // takeovers, syncs and starts of blocks up to the next event
    bool is_open = false;
    bool is_over = false;
    bool is_blocked = false;
    bool is_forced = false;
    bool has_said_end = false;
    std::vector<uint32_t> waiters;
  };
  struct Entry {
    uint64_t ticks;
    uint32_t lane;  // in lanes_
    bool operator<(const Entry& other) const { return ticks != other.ticks ? ticks > other.ticks : lane > other.lane; }
  };

  void push(uint32_t lane);
  void step(Lane& lane);  // to its next event
  bool open_block(Lane& lane);
  void note_takeover(const Lane& lane);
  void find_missing_takeovers();
  void end(Lane& lane);
  bool may_take_over(Lane& lane, uint32_t index);
  void wake(std::vector<uint32_t>& waiters);
  bool force_one();
  void release_orphans(uint64_t until);
  void problem(Problem::Kind kind, const Lane& lane, uint32_t offset, std::string text);

  Order& order_;
  uint32_t process_;
  ProcessFacts& facts_;
  std::map<uint32_t, Lane> by_number_;
  std::vector<Lane*> lanes_;
  std::priority_queue<Entry> queue_;
  std::unordered_map<uint64_t, std::vector<uint32_t>> shard_waiters_;
  std::vector<uint32_t> orphans_;  // wait for a takeover that may be missing
  std::vector<Shard> shards_;
  std::unordered_map<uint32_t, uint32_t> index_of_;  // a lane's number → its place in lanes_
  uint64_t slack_ = 0;
  uint32_t current_ = kNone;
  bool was_cut_ = false;
  bool is_over_ = false;
};

}  // namespace acre::trace
