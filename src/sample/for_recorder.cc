// What the recorder (src/record) needs of stack capture.
#include <new>

#include "pages/metadata.h"
#include "record/stacks.h"
#include "sample/capture.h"
#include "sample/last_walk.h"
#include "sample/random.h"

namespace acre::record {

uint64_t capture_stack(const StackFrame& first, CapturedFrames& frames, capture::LastWalk* last) {
  return capture::take_from(first, frames, last);
}

capture::LastWalk* new_last_walk(capture::LastWalk* earlier) {
  void* memory = earlier != nullptr ? earlier : metadata::allocate(sizeof(capture::LastWalk));
  return memory == nullptr ? nullptr : new (memory) capture::LastWalk;
}

void frames_of(const capture::LastWalk& walk, CapturedFrames& frames) { walk.copy_to(frames); }

uint64_t gap_between_stacks(uint64_t mean) {
  return static_cast<uint64_t>(random::exponential() * static_cast<double>(mean));
}

}  // namespace acre::record
