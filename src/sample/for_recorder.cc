// What the recorder (src/record) needs of stack capture.
#include <new>

#include "pages/metadata.h"
#include "record/stacks.h"
#include "sample/capture.h"
#include "sample/last_walk.h"
#include "sample/random.h"

namespace acre::record {

uint64_t capture_stack(CapturedFrames& frames, os::OwnStack* own_stack, capture::LastWalk* last) {
  return capture::take(frames, own_stack, last);
}

capture::LastWalk* make_last_walk() {
  void* memory = metadata::allocate(sizeof(capture::LastWalk));
  return memory == nullptr ? nullptr : new (memory) capture::LastWalk;
}

void frames_of(const capture::LastWalk& walk, CapturedFrames& frames) { walk.copy_to(frames); }

uint64_t gap_between_stacks(uint64_t mean) {
  return static_cast<uint64_t>(random::exponential() * static_cast<double>(mean));
}

}  // namespace acre::record
