// The stacks of allocations in a recording. Each stack has a number in the process, and a lane writes the stack's frames
// (kStackIs) before it uses the number for the first time. So no lane needs what another one has written.
//
// A stack is known by a hash of 64 bits of its frames. The frames are not kept.
#pragma once

#include "base/frames.h"
#include "os/unwind.h"
#include "record/format.h"

namespace acre {
struct Heap;
namespace capture {
class LastWalk;
}
}  // namespace acre

namespace acre::record {

struct Recorder;

// src/sample/for_recorder.cc. The calling thread's stack, as capture::take_from() has it. The unwinder may allocate.
uint64_t capture_stack(const StackFrame& first, CapturedFrames& frames, capture::LastWalk* last);
void frames_of(const capture::LastWalk& walk, CapturedFrames& frames);
// For a thread that begins, in place of an earlier thread's. Null: memory is refused.
capture::LastWalk* new_last_walk(capture::LastWalk* earlier);
// Bytes to the next sampling point, by random.
uint64_t gap_between_stacks(uint64_t mean);

namespace stacks {

// SharedHeader::stack_every of the recording: 0 none, 1 all, n: a point in n bytes on average.
inline constinit std::atomic<uint32_t> g_every{0};
inline bool are_on() { return g_every.load(std::memory_order_relaxed) != 0; }

// Makes the table, once. False: memory is refused.
bool set_every(uint32_t every);

// A recorder's lane begins, and has written no stack.
void begin(Recorder& recorder);

struct Captured {
  uint32_t number = 0;                    // 0: there is no stack, or it is not known
  const Recorder* defined_in = nullptr;   // of which the lane has written the frames
  CapturedFrames frames;                  // none if defined_in is set
};

// Before the event is begun. asked: bytes. first: the innermost frame.
void capture(Heap* heap, size_t asked, const StackFrame& first, Captured& to);

// Whether the stack is known, and its frames too if this lane has not written them: it may not be the thread's own.
inline bool can_name(const Recorder& recorder, const Captured& stack) {
  return stack.number != 0 && are_on() && (stack.frames.count != 0 || stack.defined_in == &recorder);
}

// Whether the lane has written the frames, and to write them, as kStackIs.
bool is_defined(const Recorder& recorder, const Captured& stack);
void define(Recorder& recorder, const Captured& stack);

}  // namespace stacks
}  // namespace acre::record
