// What the recorder (src/record) needs of stack capture.
#include "record/stacks.h"
#include "sample/at_work.h"
#include "sample/capture.h"
#include "sample/random.h"

namespace acre::record {

static_assert(kMostFrames == capture::kMostFrames);

unsigned capture_stack(Address (&to)[kMostFrames]) {
  capture::Frames frames;
  capture::take(frames);
  for (unsigned i = 0; i < frames.count; ++i) to[i] = frames.address[i];
  return frames.count;
}

uint64_t gap_between_stacks(uint64_t mean) {
  return static_cast<uint64_t>(random::exponential() * static_cast<double>(mean));
}

}  // namespace acre::record
