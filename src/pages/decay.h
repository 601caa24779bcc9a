// How many dirty (or muzzy) pages an arena may keep, after jemalloc's smoothstep decay: pages that became dirty at time
// t are all gone at t + decay time; until then the share that may stay falls along h(x) = 6x^5 - 15x^4 + 10x^3, read
// from 1 to 0. Time is cut into epochs, each with the number of pages that became dirty in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomics.h"

namespace acre {

// A moment (ms) that never comes.
inline constexpr uint64_t kNever = UINT64_MAX;

class Decay {
 public:
  // Milliseconds over which pages decay. Below 0: never. 0: at once.
  explicit Decay(int64_t time_ms = 10000) : time_ms_(time_ms) {}

  // Moves on to `now` (ms). dirty: pages that are dirty now. Returns true if an epoch has ended since the last call,
  // or, with decay time 0, if a page is dirty. allowed() is new then.
  bool advance(uint64_t now, size_t dirty);

  // advance() changes nothing before this time (ms). kNever: pages do not decay.
  uint64_t epoch_end() const;

  size_t allowed() const { return allowed_; }

  // Returns when fewer than `dirty` pages will be allowed, if `dirty` pages are dirty now and none is used again. It is
  // the end of an epoch, and may lie before `now` if advance() was not called since. kNever: the pages may stay.
  uint64_t next_release(uint64_t now, size_t dirty) const;

  // Tells how many pages are dirty after a purge.
  void settle(size_t dirty) { dirty_at_epoch_ = dirty; }

  // Pages that are dirty now count as newly dirty.
  void set_time(int64_t ms) { *this = Decay(ms); }
  int64_t time() const { return time_ms_; }
  int64_t racy_time() const { return racy_load(time_ms_); }  // while another thread may set it

 private:
  static constexpr unsigned kEpochs = 100;

  uint64_t interval() const;
  void shift(uint64_t epochs, size_t dirty);
  size_t allowed_after(unsigned epochs) const;

  int64_t time_ms_;
  uint64_t epoch_start_ = 0;
  size_t dirty_at_epoch_ = 0;
  size_t allowed_ = SIZE_MAX;
  uint32_t backlog_[kEpochs] = {};  // pages that became dirty in each epoch, oldest first
};

}  // namespace acre
