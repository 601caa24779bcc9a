#include "sample/capture.h"

#include <atomic>

#include "base/compiler.h"
#include "base/frames.h"
#include "os/unwind.h"
#include "sample/table_walk.h"

namespace acre::capture {

namespace {

using Step = TableWalk::Step;

constexpr uint64_t kComparedAtFirst = 16;
constexpr uint64_t kComparedOfLater = 1024;  // one in so many

constinit os::Unwinder g_unwinder;
constinit os::CodeObject g_unwinders_code;  // empty if unknown, or if acre and the unwinder are in the same object
constinit std::atomic<Way> g_way{Way::kNoUnwinder};
constinit std::atomic<uint64_t> g_captures{0};
constinit std::atomic<bool> g_is_prepared{false};  // set when preparation begins
constinit KnownWalks g_known_walks;                // walks by the tables alone

bool add(Frames& frames, Address code) {
  if (frames.count == kMostFrames) {
    frames.truncated = true;
    return false;
  }
  frames.address[frames.count++] = code;
  return true;
}

// Adds the frame, unless it is one of acre's own innermost frames. Returns false if no more frames fit.
bool add_programs(Frames& frames, Address code) {
  const bool is_own = frames.count == 0 && os::is_own_code(code);
  return is_own || add(frames, code);
}

void clear(Frames& frames) {
  frames.count = 0;
  frames.truncated = false;
}

// --- By the unwinder ------------------------------------------------------------------------------------------

struct Unwinding {
  Frames& frames;
  Address caller;         // where take()'s caller goes on: the frames before it are the capture's own
  bool has_begun = false;
  bool is_at_end = false;
};

int visit(os::UnwindContext* context, void* argument) {
  Unwinding& walk = *static_cast<Unwinding*>(argument);
  const Address code = g_unwinder.code(context);
  if (code == 0) {
    walk.is_at_end = true;
    return 1;
  }
  walk.has_begun = walk.has_begun || code == walk.caller;
  if (!walk.has_begun) return 0;
  return add_programs(walk.frames, code) ? 0 : 1;
}

// libgcc reports the stack's end as a frame without code, and stops without it at code that has no tables. Another
// unwinder may never report the end: then a missing end says nothing.
void take_by_unwinder(Address caller, Frames& frames) {
  static constinit std::atomic<bool> are_ends_shown{false};
  clear(frames);
  Unwinding walk{frames, caller};
  g_unwinder.walk(visit, &walk);
  if (walk.is_at_end) {
    are_ends_shown.store(true, std::memory_order_relaxed);
  } else if (are_ends_shown.load(std::memory_order_relaxed)) {
    frames.truncated = true;
  }
}

// --- By frame pointers ----------------------------------------------------------------------------------------

// Adds the callers that frame pointers lead to, and leaves the last one in `frame`. The frame pointer may belong to an
// outer frame, if the frame itself has set up none.
void follow(StackFrame& frame, Address stack_end, Frames& frames) {
  os::ReadablePages pages;
  for (;;) {
    const Address at = frame.frame_pointer;
    if (at < frame.stack_pointer || at >= stack_end || stack_end - at < sizeof(FrameRecord)) return;
    if (!is_aligned(at, sizeof(void*)) || !pages.reads(at) || !pages.reads(at + sizeof(Address))) return;
    const auto* record = static_cast<const FrameRecord*>(pointer_to(at));
    const Address code = record->return_address & kCodeBits;
    if (code < kPageBytes || !add_programs(frames, code)) return;
    frame = {code, at + sizeof(FrameRecord), record->caller};
  }
}

// --- The quick ways -------------------------------------------------------------------------------------------

// Walks to the first frame that is not acre's own. Returns false if the walk stops before.
bool leave_own(TableWalk& walk) {
  while (os::is_own_code(walk.frame().code)) {
    if (walk.step() != Step::kToCaller) return false;
  }
  return true;
}

// Adds the frames from this frame's caller to the stack's end. Returns false if the tables lead no further.
bool go_on_by_tables(TableWalk& walk, Frames& frames) {
  for (;;) {
    const Step step = walk.step();
    if (step != Step::kToCaller) return step == Step::kAtEnd;
    if (!add(frames, walk.frame().code)) return true;
  }
}

bool take_as_before(const StackFrame& caller, Address stack_end, Frames& frames) {
  KnownWalks::Codes known;
  if (!g_known_walks.find(caller, stack_end, &known)) return false;
  add_programs(frames, caller.code);
  for (unsigned i = 0; i < known.count; ++i) {
    if (known.code[i] != 0) add_programs(frames, known.code[i]);
  }
  return true;
}

// Returns false if the unwinder has to capture the stack, for example a signal's or a coroutine's, whose end is not
// known. Where frame pointers lead no further, the walk goes on by the tables: in the C library's own frames below
// main, and in code that uses the register for something else.
bool take_quickly(Way way, const StackFrame& caller, Frames& frames) {
  clear(frames);
  const Address stack_end = os::stack_end(caller.stack_pointer);
  if (stack_end == 0) return false;
  if (take_as_before(caller, stack_end, frames)) return true;
  TableWalk walk(caller, stack_end);
  if (!leave_own(walk)) return false;
  StackFrame frame = walk.frame();
  add(frames, frame.code);
  if (way == Way::kFramePointers && kRecordsEndFrames) follow(frame, stack_end, frames);
  if (frames.count > 1) {
    TableWalk rest(frame, stack_end);
    return frames.truncated || go_on_by_tables(rest, frames);
  }
  if (!go_on_by_tables(walk, frames)) return false;
  g_known_walks.keep(caller, stack_end, walk.trail());
  return true;
}

bool begin_alike(const Frames& few, const Frames& all) {
  if (few.count > all.count) return false;
  for (unsigned i = 0; i < few.count; ++i) {
    if (few.address[i] != all.address[i]) return false;
  }
  return true;
}

// Gives up a way that led elsewhere than the unwinder did. If the unwinder stopped early, as in code made at run time,
// and the quick way went on from there, the result of the quick way is kept.
ACRE_NOINLINE void compare(Way way, const StackFrame& caller, Frames& unwound) {
  Frames frames;
  if (!take_quickly(way, caller, frames)) return;
  if (begin_alike(unwound, frames)) {
    if (frames.count == unwound.count && frames.truncated == unwound.truncated) return;
    if (unwound.truncated && unwound.count < kMostFrames) {
      unwound = frames;
      return;
    }
  }
  const Way next = way == Way::kTables ? Way::kUnwinder : Way::kTables;
  if (g_way.compare_exchange_strong(way, next)) g_captures.store(0, std::memory_order_relaxed);
}

// Starts a walk at take()'s caller. Even if the stack's end is not known, the walk reaches acre's own frames.
TableWalk walk_from(const StackFrame& caller) {
  constexpr size_t kOwnFrames = size_t{64} << 10;
  const Address stack_end = os::stack_end(caller.stack_pointer);
  return {caller, stack_end != 0 ? stack_end : caller.stack_pointer + kOwnFrames};
}

// While code is registered by __register_frame, libgcc allocates with its lock held, and must not be called again.
// Returns the frame of libgcc that called malloc, or 0 if malloc was called from elsewhere.
Address unwinder_that_calls(const StackFrame& caller) {
  TableWalk walk = walk_from(caller);
  if (!leave_own(walk)) return 0;
  const Address code = walk.frame().code;
  return code - g_unwinders_code.start < g_unwinders_code.end - g_unwinders_code.start ? code : 0;
}

// Marks the stack as truncated unless a frame pointer of 0 or the tables show its end.
void take_without_unwinder(const StackFrame& caller, Frames& frames) {
  TableWalk walk = walk_from(caller);
  if (leave_own(walk) && add(frames, walk.frame().code) && go_on_by_tables(walk, frames)) return;
  StackFrame frame = walk.frame();
  follow(frame, os::stack_end(caller.stack_pointer), frames);
  if (frame.frame_pointer != 0) frames.truncated = true;
}

}  // namespace

Way way() { return g_way.load(std::memory_order_acquire); }
void set_way(Way way) {
  g_captures.store(0, std::memory_order_relaxed);
  g_way.store(way, std::memory_order_release);
}

void prepare() {
  if (g_is_prepared.exchange(true)) return;
  g_unwinder = os::find_unwinder();
  if (g_unwinder.walk == nullptr) return;
  os::CodeObject own;
  const bool is_known = os::find_object(reinterpret_cast<Address>(&prepare), &own) &&
                        os::find_object(reinterpret_cast<Address>(g_unwinder.walk), &g_unwinders_code);
  if (!is_known || own.start == g_unwinders_code.start) g_unwinders_code = {};
  set_way(Way::kUnwinder);
  Frames frames;
  take(frames);  // the unwinder initializes itself at its first use: now
  set_way(kRecordsEndFrames ? Way::kFramePointers : Way::kTables);
}

ACRE_NOINLINE void take(Frames& frames) {
  clear(frames);
  const Way way = capture::way();
  const auto* own = static_cast<const FrameRecord*>(__builtin_frame_address(0));
  const StackFrame caller{own->return_address & kCodeBits, address_of(__builtin_dwarf_cfa()), own->caller};
  if (way == Way::kNoUnwinder) return take_without_unwinder(caller, frames);
  bool is_compared = false;
  if (way != Way::kUnwinder) {
    const uint64_t number = g_captures.fetch_add(1, std::memory_order_relaxed);
    is_compared = number < kComparedAtFirst || number % kComparedOfLater == 0;
    if (!is_compared && take_quickly(way, caller, frames)) return;
  }
  if (const Address code = unwinder_that_calls(caller)) {
    if (is_compared && take_quickly(way, caller, frames)) return;
    clear(frames);
    add(frames, code);
    frames.truncated = true;
    return;
  }
  take_by_unwinder(caller.code, frames);
  if (is_compared) compare(way, caller, frames);
}

}  // namespace acre::capture
