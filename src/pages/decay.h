// How many dirty (or muzzy) pages an arena may keep, as time goes by.
//
// After jemalloc's smoothstep decay: pages that became dirty at time t may stay until t + decay time, and
// the share of them that may stay falls along h(x) = 6x^5 - 15x^4 + 10x^3 read from 1 to 0. Time is cut into
// epochs; for each the pages that became dirty in it are remembered.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

// A moment (ms) that never comes.
inline constexpr uint64_t kNever = UINT64_MAX;

class Decay {
 public:
  // Milliseconds over which pages decay; below 0: never, 0: at once.
  explicit Decay(int64_t time_ms = 10000) : time_ms_(time_ms) {}

  // Moves on to `now` (ms). dirty: pages that are dirty now. True when an epoch has ended since the last
  // call: `allowed` has then changed.
  bool advance(uint64_t now, size_t dirty);

  // Until then advance() changes nothing, whatever is dirty (ms; kNever if there is no decay).
  uint64_t epoch_end() const;

  // Pages that may be dirty now.
  size_t allowed() const { return allowed_; }

  // When fewer than `dirty` pages will be allowed, if as many are dirty now and none are used again: the end of an
  // epoch, which may lie before `now` if advance() was not called since. kNever: they may stay.
  uint64_t next_release(uint64_t now, size_t dirty) const;

  // After a purge, or when dirty pages were used again: dirty pages at this moment.
  void settle(size_t dirty) { dirty_at_epoch_ = dirty; }

  // Another time; what is dirty now counts as fresh.
  void set_time(int64_t ms) { *this = Decay(ms); }
  int64_t time() const { return time_ms_; }

 private:
  static constexpr unsigned kEpochs = 100;

  uint64_t interval() const;
  void shift(uint64_t epochs, size_t dirty);
  size_t allowed_after(unsigned epochs) const;

  int64_t time_ms_;
  uint64_t epoch_start_ = 0;
  size_t dirty_at_epoch_ = 0;
  size_t allowed_ = SIZE_MAX;
  uint32_t backlog_[kEpochs] = {};  // pages that became dirty, oldest first
};

}  // namespace acre
