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
constexpr uint64_t kComparedOfLater = 64;  // one in so many
// The C library's own frames below main and below a thread's function have no frame pointers.
constexpr unsigned kMayLack = 3;

constinit os::Unwinder g_unwinder;
constinit os::CodeObject g_unwinders_code;  // empty where it is not told from the program's
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

void clear(Frames& frames) {
  frames.count = 0;
  frames.truncated = false;
}

// --- By the unwinder ------------------------------------------------------------------------------------------

struct Unwinding {
  Frames& frames;
  Address caller;         // of take(), where it goes on: what is before that is the capture's own
  bool whole;             // else it ends with the first frame
  Address frame = 0;      // the frame pointer of the first frame
  bool has_begun = false;
};

int visit(os::UnwindContext* context, void* argument) {
  Unwinding& walk = *static_cast<Unwinding*>(argument);
  const Address code = g_unwinder.code(context);
  if (code == 0) return 1;
  walk.has_begun = walk.has_begun || code == walk.caller;
  if (!walk.has_begun) return 0;
  if (walk.frames.count == 0) {
    if (os::is_own_code(code)) return 0;
    walk.frame = g_unwinder.word(context, kFramePointer);
  }
  return add(walk.frames, code) && walk.whole ? 0 : 1;
}

// --- By frame pointers ----------------------------------------------------------------------------------------

// Adds the callers of the frame whose frame pointer this is: an outer one, or its caller's, of which this is a part.
void follow(Address frame, Address stack_end, Frames& frames) {
  os::ReadablePages pages;
  for (Address below = address_of(__builtin_frame_address(0)); frame > below; ) {
    if (frame >= stack_end || stack_end - frame < sizeof(FrameRecord) || !is_aligned(frame, sizeof(void*))) return;
    if (!pages.reads(frame) || !pages.reads(frame + sizeof(Address))) return;
    const auto* record = static_cast<const FrameRecord*>(pointer_to(frame));
    const Address code = record->return_address & kCodeBits;
    if (code < kPageBytes || !add(frames, code)) return;
    below = frame;
    frame = record->caller;
  }
}

// --- The quick ways -------------------------------------------------------------------------------------------

// To the first frame that is not acre's.
bool leave_own(TableWalk& walk) {
  while (os::is_own_code(walk.frame().code)) {
    if (walk.step() != Step::kToCaller) return false;
  }
  return true;
}

bool take_by_tables(TableWalk& walk, Frames& frames) {
  if (!leave_own(walk)) return false;
  Step step;
  do {
    if (!add(frames, walk.frame().code)) return true;
    step = walk.step();
  } while (step == Step::kToCaller);
  return step == Step::kAtEnd;
}

bool take_by_frame_pointers(TableWalk& walk, Address caller, Address stack_end, Frames& frames) {
  if (leave_own(walk)) {
    add(frames, walk.frame().code);
    follow(walk.frame().frame_pointer, stack_end, frames);
    return true;
  }
  Unwinding first{frames, caller, false};  // glibc is too old to find tables
  g_unwinder.walk(visit, &first);
  if (frames.count != 0) follow(first.frame, stack_end, frames);
  return true;
}

// False: the unwinder has to do it. So it has on a stack whose end is not known, a signal's or a coroutine's.
bool take_quickly(Way way, const StackFrame& caller, Frames& frames) {
  clear(frames);
  const Address stack_end = os::stack_end(caller.stack_pointer);
  if (stack_end == 0) return false;
  TableWalk walk(caller, stack_end);
  if (way == Way::kTables) return take_by_tables(walk, frames);
  return take_by_frame_pointers(walk, caller.code, stack_end, frames);
}

bool agree(Way way, const Frames& frames, const Frames& unwound) {
  const unsigned may_lack = way == Way::kTables ? 0 : kMayLack;
  if (frames.truncated != unwound.truncated && (frames.truncated || may_lack == 0)) return false;
  if (frames.count > unwound.count || frames.count + may_lack < unwound.count) return false;
  for (unsigned i = 0; i < frames.count; ++i) {
    if (frames.address[i] != unwound.address[i]) return false;
  }
  return true;
}

// While code is registered by __register_frame, libgcc allocates with its lock held: then it must not be asked again. The
// frame of its that called malloc; 0: none did. On a stack whose end is not known, acre's own frames are in reach in any
// case.
Address unwinder_that_calls(const StackFrame& caller) {
  constexpr size_t kOwnFrames = size_t{64} << 10;
  const Address stack_end = os::stack_end(caller.stack_pointer);
  TableWalk walk(caller, stack_end != 0 ? stack_end : caller.stack_pointer + kOwnFrames);
  if (!leave_own(walk)) return 0;
  const Address code = walk.frame().code;
  return code - g_unwinders_code.start < g_unwinders_code.end - g_unwinders_code.start ? code : 0;
}

// Where this way leads elsewhere than the unwinder, the next one is taken from now on.
ACRE_NOINLINE void compare(Way way, const StackFrame& caller, const Frames& unwound) {
  Frames frames;
  if (!take_quickly(way, caller, frames) || agree(way, frames, unwound)) return;
  const Way next = way == Way::kTables ? Way::kUnwinder : Way::kTables;
  if (g_way.compare_exchange_strong(way, next)) g_captures.store(0, std::memory_order_relaxed);
}

}  // namespace

Way way() { return g_way.load(std::memory_order_acquire); }
void set_way(Way way) {
  g_captures.store(0, std::memory_order_relaxed);
  g_way.store(way, std::memory_order_release);
}

void prepare() {
  if (way() != Way::kNone || g_is_prepared.exchange(true)) return;
  g_unwinder = os::find_unwinder();
  if (g_unwinder.walk == nullptr) return set_way(Way::kOnlyFramePointers);
  os::CodeObject own;
  const bool is_known = os::find_object(reinterpret_cast<Address>(&prepare), &own) &&
                        os::find_object(reinterpret_cast<Address>(g_unwinder.walk), &g_unwinders_code);
  if (!is_known || own.start == g_unwinders_code.start) g_unwinders_code = {};
  set_way(Way::kUnwinder);
  Frames frames;
  take(frames);  // what it makes ready at its first use, it does now
  set_way(Way::kFramePointers);
}

ACRE_NOINLINE void take(Frames& frames) {
  clear(frames);
  const Way way = capture::way();
  if (way == Way::kNone) return;
  const auto* own = static_cast<const FrameRecord*>(__builtin_frame_address(0));
  const StackFrame caller{own->return_address & kCodeBits, address_of(__builtin_dwarf_cfa()), own->caller};
  if (way == Way::kOnlyFramePointers) {
    add(frames, caller.code);
    return follow(caller.frame_pointer, os::stack_end(caller.stack_pointer), frames);
  }
  bool is_compared = false;
  if (way != Way::kUnwinder) {
    const uint64_t number = g_captures.fetch_add(1, std::memory_order_relaxed);
    is_compared = number < kComparedAtFirst || number % kComparedOfLater == 0;
    if (!is_compared && take_quickly(way, caller, frames)) return;
    clear(frames);
  }
  if (const Address code = unwinder_that_calls(caller)) {
    if (is_compared && take_quickly(way, caller, frames)) return;
    clear(frames);
    add(frames, code);
    frames.truncated = true;
    return;
  }
  Unwinding walk{frames, caller.code, true};
  g_unwinder.walk(visit, &walk);
  if (is_compared) compare(way, caller, frames);
}

}  // namespace acre::capture
