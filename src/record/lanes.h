// The memory shared with the collector: this process's entry there, and threads' lanes (format.h).
#pragma once

#include "base/mutex.h"
#include "os/os.h"
#include "record/encoder.h"
#include "record/stacks.h"

namespace acre::record {

// What a thread needs to write its lane.
struct Recorder {
  // Up to where events can be written, the encoder's stop. Null: there is no lane, or the thread is writing an event, so
  // that one of a signal handler goes elsewhere.
  std::atomic<const uint8_t*> ready_until{nullptr};
  uint64_t clock_seen = 0;          // the collector's clock when the time was written last
  uint64_t until_stack = 0;         // bytes to the next allocation that has a stack; 0: each has one
  uint32_t name_in_shards = 0;      // the lane's number, plus 1
  uint32_t block_number = 0;
  BlockHeader* block = nullptr;     // null: it has no lane
  Encoder encoder;
  LaneHeader* lane = nullptr;
  const std::atomic<uint64_t>* clock = nullptr;  // of the lane's recording
  uint8_t* blocks = nullptr;        // the lane's
  uint32_t session = 0;             // of the lane
  char name[os::kNameBytes] = {};   // the thread's, as it was written (names.h)
  uint32_t last_look = 0;           // at the name, a tick()
  uint32_t ticks_to_look = 0;
  bool is_capturing = false;        // a stack (stacks.h)
  capture::LastWalk* last_walk = nullptr;
  uint32_t highest_stack = 0;       // number in written_stacks
  uint8_t* written_stacks = nullptr;  // a bit for each number of which the lane has written the frames
  Recorder* next = nullptr;         // lists of record.cc

  uint32_t tick() const { return static_cast<uint32_t>(clock_seen); }
  uint32_t number() const { return name_in_shards - 1; }

  // Bytes of the events in the block of block_number. In the child of a fork, whose copy of another thread's recorder may
  // have the number of a block that the encoder has not begun.
  uint32_t used_at_fork() const {
    const uint8_t* const block_at = blocks + block_number % kBlocksPerLane * kBlockBytes;
    const auto used = static_cast<size_t>(encoder.at() - (block_at + sizeof(BlockHeader)));
    return used <= kEventBytes ? static_cast<uint32_t>(used) : 0;
  }
};

namespace lanes {

// Maps a collector's memory, and enters this process there. place: the collector's process and descriptor, as "123/4".
// parent: the number of the process that this one was forked from, or kNoProcess. Returns 0 or an error number. One
// thread at a time. Earlier memory stays mapped: other threads may be writing to it.
int attach(const char* place, uint32_t parent);

// Waits until the collector has read what the kernel tells of this process, 5 s at most. A program may end at once, and
// its mappings, which its stacks need, end with it. A child of a fork has its parent's.
void wait_until_known();

// The process records no more. The collector takes what is in its lanes.
void leave();

// The number of this process's entry.
uint32_t process_number();

// Of the next lane of this process.
uint32_t next_lane_number();

// SharedHeader::stack_every
uint32_t stack_every();

// Whether the collector takes blocks.
bool is_collected();

// Gives the recorder a lane. False: there is none left. A fork comes before or after: of a lane that has its number a child
// finds the block, too.
bool begin(Recorder& recorder, uint32_t thread);
// After the last event.
void end(Recorder& recorder);

void at_fork(ForkStage stage);

// Makes all events so far visible to the collector.
ACRE_ALWAYS_INLINE void publish(Recorder& recorder) {
  recorder.block->used.store(recorder.encoder.used(), std::memory_order_release);
}

// Begins the lane's next block. Waits for the collector while the ring is full. False: there is no collector any more.
bool next_block(Recorder& recorder);

// The collector's clock (SharedHeader::clock); 0 once the recording has ended. Not before the first recording.
extern std::atomic<const std::atomic<uint64_t>*> g_clock ACRE_HIDDEN;
ACRE_ALWAYS_INLINE uint64_t clock() { return g_clock.load(std::memory_order_relaxed)->load(std::memory_order_relaxed); }
// The counter of takeovers of this process.
std::atomic<uint64_t>& takeovers();

}  // namespace lanes
}  // namespace acre::record
