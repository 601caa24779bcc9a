// Who writes events: each thread into its own lane, others into a common one; and when there is a recording.
#pragma once

#include "base/compiler.h"
#include "cache/heap.h"
#include "record/lanes.h"
#include "record/shards.h"

namespace acre::record {

extern Shard* g_shards ACRE_HIDDEN;  // while there is a recording

// Whether the thread has its lane and does not write, and nothing comes before an event on the block. False, too, if the
// lane is of a recording that has ended: no other one has its clock.
ACRE_ALWAYS_INLINE bool is_ready(const Recorder& recorder, const void* block) {
  return recorder.encoder.is_below(recorder.ready_until.load(std::memory_order_relaxed)) &&
         recorder.clock_seen == lanes::clock() &&
         g_shards[shard_of(reinterpret_cast<uint64_t>(block))].lane() == recorder.name_in_shards;
}

// Of a recorder that is ready. leave_own() follows.
ACRE_ALWAYS_INLINE void enter_own(Recorder& recorder) {
  recorder.ready_until.store(nullptr, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

ACRE_ALWAYS_INLINE void leave_own(Recorder& recorder) {
  lanes::publish(recorder);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  recorder.ready_until.store(recorder.encoder.stop(), std::memory_order_relaxed);
}

// For any event. Null: the event is not recorded. Otherwise leave() follows.
Recorder* enter(Heap* heap);
void leave(Recorder& recorder);
// The same for a caller that may hold locks of other parts: a thread without a recorder writes into the common lane, since
// making one takes a lock.
Recorder* enter_under_locks(Heap* heap);

// Begins the lane's next block. False: there is no recording any more.
bool next_block(Recorder& recorder);

// Whether its lane is of this recording, and of this process.
bool has_lane_now(const Recorder& recorder);

// Whether this is the lane of threads that have none.
bool is_common(const Recorder& recorder);

}  // namespace acre::record
