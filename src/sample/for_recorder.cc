// What the recorder (src/record) needs of stack capture.
#include "record/stacks.h"
#include "sample/capture.h"
#include "sample/random.h"

namespace acre::record {

void capture_stack(CapturedFrames& frames, os::OwnStack* own_stack) { capture::take(frames, own_stack); }

uint64_t gap_between_stacks(uint64_t mean) {
  return static_cast<uint64_t>(random::exponential() * static_cast<double>(mean));
}

}  // namespace acre::record
