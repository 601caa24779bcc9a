#include "sample/capture.h"

#include <atomic>

#include "base/compiler.h"
#include "base/frames.h"
#include "os/unwind.h"

namespace acre::capture {

namespace {

constexpr uint64_t kComparedAtFirst = 64;
constexpr uint64_t kComparedOfLater = 64;  // one in so many
// The C library's own frames below main and below a thread's function have no frame pointers.
constexpr unsigned kMayLack = 3;

constinit os::Unwinder g_unwinder;
constinit std::atomic<Way> g_way{Way::kNone};
constinit std::atomic<uint64_t> g_captures{0};
constinit std::atomic<bool> g_is_prepared{false};  // or is being so, by another thread

bool add(Frames& frames, Address code) {
  if (frames.count == kMostFrames) {
    frames.truncated = true;
    return false;
  }
  frames.address[frames.count++] = code;
  return true;
}

// --- By frame pointers ----------------------------------------------------------------------------------------

class ReadablePages {
 public:
  bool reads(Address a) { return page_reads(a) && page_reads(a + sizeof(FrameRecord) - 1); }

 private:
  bool page_reads(Address a) {
    const Address page = align_down(a, kPageBytes);
    if (page == last_) return true;
    if (!os::is_readable(page)) return false;
    last_ = page;
    return true;
  }

  Address last_ = 0;
};

// Adds the callers of the frame whose frame pointer this is: an outer one, or its caller's, of which this may be a part.
void follow(Address frame, Frames& frames) {
  const Address end = os::stack_end(address_of(__builtin_frame_address(0)));
  ReadablePages pages;
  for (Address below = address_of(__builtin_frame_address(0)) - 1; frame > below; ) {
    if (frame >= end || end - frame < sizeof(FrameRecord) || !is_aligned(frame, sizeof(void*))) return;
    if (!pages.reads(frame)) return;
    const auto* record = static_cast<const FrameRecord*>(pointer_to(frame));
    const Address code = record->return_address & kCodeBits;
    if (code < kPageBytes || !add(frames, code)) return;
    below = frame;
    frame = record->caller;
  }
}

// --- By the unwinder ------------------------------------------------------------------------------------------

struct Walk {
  Frames& frames;
  bool whole;            // else it ends with the first frame
  Address frame = 0;     // the frame pointer of the first frame
  unsigned skip = 1;     // take()'s own, where acre's code is not told apart from the program's
};

int visit(os::UnwindContext* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  const Address code = g_unwinder.code(context);
  if (code == 0) return 1;
  if (walk.skip != 0) {
    --walk.skip;
    return 0;
  }
  if (walk.frames.count == 0) {
    if (os::is_own_code(code)) return 0;
    walk.frame = g_unwinder.word(context, kFramePointer);
  }
  return add(walk.frames, code) && walk.whole ? 0 : 1;
}

bool agree(const Frames& frames, const Frames& unwound) {
  if (unwound.truncated) return frames.count == unwound.count || frames.truncated;
  if (frames.count > unwound.count || frames.count + kMayLack < unwound.count) return false;
  for (unsigned i = 0; i < frames.count; ++i) {
    if (frames.address[i] != unwound.address[i]) return false;
  }
  return true;
}

ACRE_NOINLINE void compare(const Walk& walk) {
  Frames frames;
  if (!add(frames, walk.frames.address[0])) return;
  follow(walk.frame, frames);
  Way measured = Way::kMeasured;
  if (!agree(frames, walk.frames)) g_way.compare_exchange_strong(measured, Way::kUnwinder);
}

}  // namespace

Way way() { return g_way.load(std::memory_order_relaxed); }
void set_way(Way way) { g_way.store(way, std::memory_order_relaxed); }

void prepare() {
  if (way() != Way::kNone || g_is_prepared.exchange(true)) return;
  g_unwinder = os::find_unwinder();
  if (g_unwinder.walk == nullptr) return set_way(Way::kFramePointers);
  set_way(Way::kUnwinder);
  Frames frames;
  take(frames);  // what it makes ready at its first use, it does now
  set_way(Way::kMeasured);
}

ACRE_NOINLINE void take(Frames& frames) {
  frames.count = 0;
  frames.truncated = false;
  const Way way = capture::way();
  if (way == Way::kNone) return;
  if (way == Way::kFramePointers) return follow(address_of(__builtin_frame_address(0)), frames);
  const uint64_t number = g_captures.fetch_add(1, std::memory_order_relaxed);
  const bool both = number < kComparedAtFirst || number % kComparedOfLater == 0;
  Walk walk{frames, way == Way::kUnwinder || both};
  g_unwinder.walk(visit, &walk);
  if (way == Way::kUnwinder || frames.count == 0) return;
  if (walk.whole) {
    compare(walk);
  } else {
    follow(walk.frame, frames);
  }
}

}  // namespace acre::capture
