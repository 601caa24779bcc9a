#include "sample/capture.h"

#include <atomic>

#include "base/compiler.h"
#include "base/frames.h"
#include "base/hash.h"
#include "os/unwind.h"
#include "sample/table_walk.h"

namespace acre::capture {

namespace {

using Step = TableWalk::Step;

constexpr uint64_t kComparedAtFirst = 16;
constexpr uint64_t kComparedOfLater = 64;  // one in so many
// The C library's own frames below main and below a thread's function have no frame pointers: so many, and no more, may
// be added to what is known by them.
constexpr unsigned kMayLack = 3;

constinit os::Unwinder g_unwinder;
constinit os::CodeObject g_unwinders_code;  // empty where it is not told from the program's
constinit std::atomic<Way> g_way{Way::kNoUnwinder};
constinit std::atomic<uint64_t> g_captures{0};
constinit std::atomic<bool> g_is_prepared{false};  // or is being so, by another thread

// What lies beyond the places at which frame pointers were seen to end.
class Ends {
 public:
  // Adds it. False: these frames' end was not seen yet.
  bool complete(Frames& frames);
  // Of whole frames, the first `count` are known by frame pointers. A place that is kept stays as it is; what there is no
  // room for is not kept.
  void keep(const Frames& whole, unsigned count);
  void clear();

 private:
  static constexpr unsigned kBits = 6, kBitsOfWord = 64, kTries = 4;
  static constexpr Address kTaken = 1;  // by a thread that writes it
  struct End {
    std::atomic<Address> code{0};  // the last one known; 0: a free place
    Address beyond[kMayLack] = {};
    unsigned count = 0;
    bool truncated = false;
  };

  End& place(Address code, unsigned number) {
    return ends_[((code * kHashFactor >> (kBitsOfWord - kBits)) + number) % (1u << kBits)];
  }

  End ends_[size_t{1} << kBits];
};
constinit Ends g_ends;

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

bool Ends::complete(Frames& frames) {
  if (frames.count == 0) return false;
  const Address last = frames.address[frames.count - 1];
  for (unsigned number = 0; number < kTries; ++number) {
    const End& end = place(last, number);
    if (end.code.load(std::memory_order_acquire) != last) continue;
    for (unsigned i = 0; i < end.count; ++i) add(frames, end.beyond[i]);
    if (end.truncated) frames.truncated = true;
    return true;
  }
  return false;
}

void Ends::keep(const Frames& whole, unsigned count) {
  const Address last = whole.address[count - 1];
  for (unsigned number = 0; number < kTries; ++number) {
    End& end = place(last, number);
    Address nobody = 0;
    if (!end.code.compare_exchange_strong(nobody, kTaken, std::memory_order_relaxed)) continue;
    end.count = whole.count - count;
    for (unsigned i = 0; i < end.count; ++i) end.beyond[i] = whole.address[count + i];
    end.truncated = whole.truncated;
    return end.code.store(last, std::memory_order_release);
  }
}

void Ends::clear() {
  for (End& end : ends_) end.code.store(0);
}

// --- By the unwinder ------------------------------------------------------------------------------------------

struct Unwinding {
  Frames& frames;
  Address caller;         // of take(), where it goes on: what is before that is the capture's own
  bool whole;             // else it ends with the first frame
  Address frame = 0;      // the frame pointer of the first frame
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
  if (walk.frames.count == 0) {
    if (os::is_own_code(code)) return 0;
    walk.frame = g_unwinder.word(context, kFramePointer);
  }
  return add(walk.frames, code) && walk.whole ? 0 : 1;
}

// libgcc shows the stack's end as a frame without code, and just ends where code has no tables. Another unwinder may not
// show it.
void take_by_unwinder(Address caller, Frames& frames) {
  static constinit std::atomic<bool> are_ends_shown{false};
  clear(frames);
  Unwinding walk{frames, caller, true};
  g_unwinder.walk(visit, &walk);
  if (walk.is_at_end) {
    are_ends_shown.store(true, std::memory_order_relaxed);
  } else if (are_ends_shown.load(std::memory_order_relaxed)) {
    frames.truncated = true;
  }
}

// --- By frame pointers ----------------------------------------------------------------------------------------

// Adds the callers of the frame whose frame pointer this is: an outer one, or its caller's, of which this is a part.
// Returns where it ended: 0 is how a stack's first function leaves it.
Address follow(Address frame, Address stack_end, Frames& frames) {
  os::ReadablePages pages;
  for (Address below = address_of(__builtin_frame_address(0)); frame > below; ) {
    if (frame >= stack_end || stack_end - frame < sizeof(FrameRecord) || !is_aligned(frame, sizeof(void*))) break;
    if (!pages.reads(frame) || !pages.reads(frame + sizeof(Address))) break;
    const auto* record = static_cast<const FrameRecord*>(pointer_to(frame));
    const Address code = record->return_address & kCodeBits;
    if (code < kPageBytes || !add(frames, code)) break;
    below = frame;
    frame = record->caller;
  }
  return frame;
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

// False: the unwinder has to do it. So it has on a stack whose end is not known, a signal's or a coroutine's. Frame
// pointers may end before the stack does.
bool take_inner(Way way, const StackFrame& caller, Frames& frames) {
  clear(frames);
  const Address stack_end = os::stack_end(caller.stack_pointer);
  if (stack_end == 0) return false;
  TableWalk walk(caller, stack_end);
  if (way == Way::kTables) return take_by_tables(walk, frames);
  return take_by_frame_pointers(walk, caller.code, stack_end, frames);
}

bool take_quickly(Way way, const StackFrame& caller, Frames& frames) {
  if (!take_inner(way, caller, frames)) return false;
  return way == Way::kTables || frames.truncated || g_ends.complete(frames);
}

bool begin_alike(const Frames& few, const Frames& all) {
  if (few.count > all.count) return false;
  for (unsigned i = 0; i < few.count; ++i) {
    if (few.address[i] != all.address[i]) return false;
  }
  return true;
}

bool same(const Frames& a, const Frames& b) {
  return a.count == b.count && a.truncated == b.truncated && begin_alike(a, b);
}

// Whether this way gives what the unwinder gave. An end of frame pointers that was not seen before is kept, if it may be
// one.
ACRE_NOINLINE bool is_right(Way way, const StackFrame& caller, const Frames& unwound) {
  Frames frames;
  if (!take_inner(way, caller, frames)) return true;
  if (way == Way::kTables || frames.truncated) return same(frames, unwound);
  if (frames.count == 0 || !begin_alike(frames, unwound)) return false;
  const unsigned count = frames.count;
  if (g_ends.complete(frames)) return same(frames, unwound);
  if (unwound.count == kMostFrames) return true;  // its end was not seen
  if (unwound.count - count > kMayLack) return false;
  g_ends.keep(unwound, count);
  return true;
}

// Up from take()'s caller. On a stack whose end is not known, acre's own frames are in reach in any case.
TableWalk walk_from(const StackFrame& caller) {
  constexpr size_t kOwnFrames = size_t{64} << 10;
  const Address stack_end = os::stack_end(caller.stack_pointer);
  return {caller, stack_end != 0 ? stack_end : caller.stack_pointer + kOwnFrames};
}

// While code is registered by __register_frame, libgcc allocates with its lock held: then it must not be asked again. The
// frame of its that called malloc; 0: none did.
Address unwinder_that_calls(const StackFrame& caller) {
  TableWalk walk = walk_from(caller);
  if (!leave_own(walk)) return 0;
  const Address code = walk.frame().code;
  return code - g_unwinders_code.start < g_unwinders_code.end - g_unwinders_code.start ? code : 0;
}

// What led elsewhere than the unwinder is not tried any more.
void give_up(Way way) {
  const Way next = way == Way::kTables ? Way::kUnwinder : Way::kTables;
  if (g_way.compare_exchange_strong(way, next)) g_captures.store(0, std::memory_order_relaxed);
}

void take_without_unwinder(const StackFrame& caller, Frames& frames) {
  TableWalk walk = walk_from(caller);
  if (take_by_tables(walk, frames)) return;
  if (frames.count == 0) add(frames, walk.frame().code);
  if (follow(walk.frame().frame_pointer, os::stack_end(caller.stack_pointer), frames) != 0) frames.truncated = true;
}

}  // namespace

Way way() { return g_way.load(std::memory_order_acquire); }
void set_way(Way way) {
  g_captures.store(0, std::memory_order_relaxed);
  g_ends.clear();
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
  take(frames);  // what it makes ready at its first use, it does now
  set_way(Way::kFramePointers);
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
    const bool is_trial = number < kComparedAtFirst || number % kComparedOfLater == 0;
    if (!is_trial && take_quickly(way, caller, frames)) return;
    is_compared = is_trial || way == Way::kFramePointers;  // whose end is new
  }
  if (const Address code = unwinder_that_calls(caller)) {
    if (is_compared && take_quickly(way, caller, frames)) return;
    clear(frames);
    add(frames, code);
    frames.truncated = true;
    return;
  }
  take_by_unwinder(caller.code, frames);
  if (is_compared && !is_right(way, caller, frames)) give_up(way);
}

}  // namespace acre::capture
