#include "sample/capture.h"

#include <atomic>

#include "base/compiler.h"
#include "base/fatal.h"
#include "base/frames.h"
#include "cache/owner_at_work.h"
#include "os/unwind.h"
#include "sample/known_steps.h"
#include "sample/known_walks.h"
#include "sample/last_walk.h"

namespace acre::capture {

namespace {

constexpr uint64_t kComparedAtFirst = 16;
constexpr uint64_t kComparedOfLater = 1024;  // one in so many
constexpr uint32_t kMostWrongSteps = 64;     // walks by steps that were wrong

constinit os::Unwinder g_unwinder;
constinit os::CodeObject g_own_code;        // the object that acre is in: the library or the program
constinit os::CodeObject g_unwinders_code;  // empty if unknown, or if acre and the unwinder are in the same object
constinit std::atomic<Way> g_way{Way::kNoUnwinder};
constinit std::atomic<uint64_t> g_known{0};        // walks that were made without the unwinder
constinit std::atomic<bool> g_is_prepared{false};  // set when preparation begins
constinit std::atomic<uint32_t> g_wrong_steps{0};
constinit KnownSteps g_known_steps;
constinit KnownWalks g_known_walks;

bool add(Frames& frames, Address code, Address stack_pointer) {
  if (frames.count == kMostFrames) {
    frames.truncated = true;
    return false;
  }
  frames.depth[frames.count] = static_cast<uint32_t>(stack_pointer - frames.stack_pointer);
  frames.address[frames.count++] = code;
  return true;
}

// Adds the frame, unless it is one of acre's own innermost frames. Returns false if no more frames fit.
bool add_programs(Frames& frames, Address code, Address stack_pointer) {
  const bool is_own = frames.count == 0 && os::is_own_code(code);
  return is_own || add(frames, code, stack_pointer);
}

void clear(Frames& frames) {
  frames.count = 0;
  frames.truncated = false;
}

// --- By frame pointers ----------------------------------------------------------------------------------------

// Adds the callers that frame pointers lead to. Marks the stack as truncated unless a frame pointer of 0 shows its end.
void follow(StackFrame frame, Address stack_end, Frames& frames) {
  os::ReadablePages pages(frame.stack_pointer);
  while (frame.frame_pointer != 0) {
    const Address at = frame.frame_pointer - kRecordBelow;
    const bool is_on_stack = at >= frame.stack_pointer && at < stack_end && stack_end - at >= sizeof(FrameRecord);
    if (!is_on_stack || !is_aligned(at, sizeof(void*)) || !pages.reads(at) || !pages.reads(at + sizeof(Address))) break;
    const auto* record = static_cast<const FrameRecord*>(pointer_to(at));
    const Address code = record->return_address & kCodeBits;
    if (code < kPageBytes || !add_programs(frames, code, at + sizeof(FrameRecord))) break;
    frame = {code, at + sizeof(FrameRecord), record->caller};
  }
  frames.truncated = frames.truncated || frame.frame_pointer != 0;
}

// --- By the unwinder ------------------------------------------------------------------------------------------

// A walk by the unwinder, which also finds the words that the walk depends on.
class Unwinding {
 public:
  // first: take()'s caller. The unwinder's frames before it are skipped.
  Unwinding(const StackFrame& first, Address stack_end, Frames& frames)
      : first_(first), frame_{}, stack_end_(stack_end), pages_(first.stack_pointer), frames_(frames) {}

  static int visit(os::UnwindContext* context, void* walk) { return static_cast<Unwinding*>(walk)->go_to(context) ? 0 : 1; }

  bool is_at_end() const { return is_at_end_; }
  const Trail* trail() const { return has_begun_ ? &trail_ : nullptr; }  // null: the walk did not come by `first`
  const StackFrame& frame() const { return frame_; }  // the last one

 private:
  bool go_to(os::UnwindContext* context) {
    int is_interrupted = 0;
    const StackFrame callee = frame_;
    frame_ = {g_unwinder.code(context, &is_interrupted), g_unwinder.stack_pointer(context),
              g_unwinder.saved_register(context, kFramePointer)};
    is_at_end_ = frame_.code == 0;
    if (has_begun_) {
      if (stack_end_ != 0) learn_step(callee, is_interrupted != 0);
      was_interrupted_ = is_interrupted != 0;
      if (is_interrupted != 0 || !note_step(callee)) trail_.give_up();
    } else if (frame_.stack_pointer != first_.stack_pointer || frame_.code != first_.code) {
      return !is_at_end_;
    }
    has_begun_ = true;
    return !is_at_end_ && add_programs(frames_, frame_.code, frame_.stack_pointer);
  }

  void learn_step(const StackFrame& callee, bool is_interrupted) {
    if (was_interrupted_) return;  // the callee goes on anywhere
    if (is_at_end_) return g_known_steps.learn_end(callee);
    if (is_interrupted) return g_known_steps.learn_irregular(callee);
    g_known_steps.learn(callee, frame_, stack_end_, pages_);
  }

  // Adds to the trail what leads from the callee to this frame. Returns false if it was not found in the callee's frame.
  // At the stack's end there may be a return address of 0, or none.
  bool note_step(const StackFrame& callee) {
    const Address end = frame_.stack_pointer;
    if (end <= callee.stack_pointer || end > stack_end_ || !is_aligned(end, sizeof(Address))) return is_at_end_;
    const Address record = callee.frame_pointer - kRecordBelow;
    if (record - callee.stack_pointer < end - callee.stack_pointer && !note_frame_pointer()) return false;
    Trail::Mark code;
    const bool is_found = find_word(callee.stack_pointer, end, kCodeBits, frame_.code, &code);
    code.place |= Trail::kIsCode;
    code.stack_pointer = static_cast<uint32_t>(end - first_.stack_pointer);
    if (is_found) trail_.add(code);
    if (frame_.frame_pointer != callee.frame_pointer) {
      is_saved_ = true;
      if (!find_word(callee.stack_pointer, end, ~Address{0}, frame_.frame_pointer, &saved_)) saved_ = {};
    }
    return is_found || is_at_end_;
  }

  // Adds to the trail where the callee's frame pointer was saved.
  bool note_frame_pointer() {
    if (!is_saved_) {
      trail_.go_by_register();
      return true;
    }
    if (saved_.word == 0) return false;
    trail_.add(saved_);
    return true;
  }

  // Searches a frame for a word, from the end where return addresses lie.
  bool find_word(Address begin, Address end, Address bits, Address wanted, Trail::Mark* mark) {
    for (Address passed = 0; passed < end - begin; passed += sizeof(Address)) {
      const Address at = kRecordsEndFrames ? end - sizeof(Address) - passed : begin + passed;
      if (!pages_.reads(at)) return false;
      const Address word = word_at(at);
      if ((word & bits) != wanted) continue;
      *mark = {static_cast<uint32_t>(at - first_.stack_pointer), 0, word};
      return true;
    }
    return false;
  }

  const AllocatingElsewhere elsewhere_;
  StackFrame first_, frame_;
  Address stack_end_;
  os::ReadablePages pages_;
  Trail trail_;
  Trail::Mark saved_;      // where a callee saved the frame pointer of frame_; word 0: not found
  bool is_saved_ = false;  // false: no callee changed the register
  Frames& frames_;
  bool has_begun_ = false;
  bool was_interrupted_ = false;  // the last frame was, by a signal
  bool is_at_end_ = false;
};

// libgcc reports the stack's end as a frame without code, and stops without it at code that has no tables. Another
// unwinder may never report the end: then a missing end says nothing.
void take_by_unwinder(const StackFrame& first, Address stack_end, Frames& frames) {
  static constinit std::atomic<bool> are_ends_shown{false};
  clear(frames);
  Unwinding walk(first, stack_end, frames);
  g_unwinder.walk(&Unwinding::visit, &walk);
  if (walk.is_at_end()) {
    are_ends_shown.store(true, std::memory_order_relaxed);
    if (walk.trail() != nullptr && stack_end != 0) g_known_walks.keep(first, stack_end, *walk.trail());
  } else if (are_ends_shown.load(std::memory_order_relaxed)) {
    follow(walk.frame(), stack_end, frames);
  }
}

// --- Known steps and walks ------------------------------------------------------------------------------------

bool may_take_steps() {
  return way() == Way::kKnownWalks && g_wrong_steps.load(std::memory_order_relaxed) < kMostWrongSteps;
}

bool take_by_steps(StackFrame frame, Address stack_end, Frames& frames) {
  if (stack_end == 0 || !may_take_steps()) return false;
  os::ReadablePages pages(frame.stack_pointer);
  while (add_programs(frames, frame.code, frame.stack_pointer)) {
    const KnownSteps::Step step = g_known_steps.go(frame, stack_end, pages);
    if (ACRE_LIKELY(step == KnownSteps::Step::kTaken)) continue;
    if (step == KnownSteps::Step::kEnd) return true;
    clear(frames);
    return false;
  }
  return true;
}

// 0: not known.
Address caller_by_steps(StackFrame frame) {
  const Address stack_end = os::stack_end(frame.stack_pointer);
  if (stack_end == 0) return 0;
  os::ReadablePages pages(frame.stack_pointer);
  while (os::is_own_code(frame.code)) {
    if (g_known_steps.go(frame, stack_end, pages) != KnownSteps::Step::kTaken) return 0;
  }
  return frame.code;
}

bool take_as_before(const StackFrame& first, Address stack_end, Frames& frames) {
  KnownWalks::Codes known;
  if (stack_end == 0 || !g_known_walks.find(first, stack_end, &known)) return false;
  add_programs(frames, first.code, first.stack_pointer);
  for (unsigned i = 0; i < known.count; ++i) {
    if (known.code[i] != 0) add_programs(frames, known.code[i], first.stack_pointer + known.depth[i]);
  }
  return true;
}

bool are_same(const Frames& a, const Frames& b) {
  if (a.count != b.count || a.truncated != b.truncated) return false;
  for (unsigned i = 0; i < a.count; ++i) {
    if (a.address[i] != b.address[i]) return false;
  }
  return true;
}

ACRE_NOINLINE void compare(const StackFrame& first, Address stack_end, bool is_by_steps, Frames& known) {
  const Frames before = known;
  take_by_unwinder(first, stack_end, known);
  if (are_same(before, known)) return;
  if (is_by_steps) {
    g_wrong_steps.fetch_add(1, std::memory_order_relaxed);  // the unwinder's walk has corrected the steps
  } else {
    g_way.store(Way::kUnwinder, std::memory_order_release);
  }
}

// A thread that has a last walk counts some walks by itself: else threads would wait for each other at the counter.
bool is_to_be_compared(LastWalk* last) {
  constexpr uint32_t kCountedAtOnce = 16;
  uint32_t walks = 1;
  if (last != nullptr && g_known.load(std::memory_order_relaxed) >= kComparedAtFirst) {
    if (++last->uncounted < kCountedAtOnce) return false;
    walks = last->uncounted;
    last->uncounted = 0;
  }
  const uint64_t before = g_known.fetch_add(walks, std::memory_order_relaxed);
  return before < kComparedAtFirst || (before + walks) % kComparedOfLater < walks;
}

// --- Whether the unwinder may be asked ----------------------------------------------------------------------------

bool is_in(const os::CodeObject& object, Address code) { return code - object.start < object.end - object.start; }

// While code is registered by __register_frame, libgcc calls malloc with its lock held, and must not be called again.
// Returns malloc's return address in libgcc, or 0 if malloc was called from elsewhere.
//
// If the caller of malloc is not known, the stack is searched for an address in the unwinder's code. That errs on the safe
// side: the address may be a remainder of an earlier exception, and a stack that could be walked is then truncated, but
// the thread never waits for itself. acre's own frames from `frames` to malloc's caller take at most some 800 bytes.
Address unwinder_that_allocates(const Frames& frames, const StackFrame& first) {
  constexpr size_t kWindow = 2048, kMostOfCaller = 8192;
  Address caller = t_heap->caller;
  if (caller == 0 || is_in(g_own_code, caller)) caller = caller_by_steps(first);
  if (caller != 0 && !is_in(g_own_code, caller)) return is_in(g_unwinders_code, caller) ? caller : 0;
  if (this_thread_ends()) return 0;  // the thread may wait for itself then, but the message is written
  Address at = first.stack_pointer;
  const Address end_of_frames = address_of(&frames + 1);  // not written yet: on the stack they hold old words
  if (end_of_frames - at < kMostOfCaller) at = end_of_frames;
  os::ReadablePages pages(first.stack_pointer);
  for (const Address end = at + kWindow; at < end && pages.reads(at); at += sizeof(Address)) {
    if (const Address code = word_at(at) & kCodeBits; is_in(g_unwinders_code, code)) return code;
  }
  return 0;
}

// --- Without an unwinder ----------------------------------------------------------------------------------------

// If acre is part of the program it keeps frame pointers from malloc's slow path on, to which the program's are linked. The
// library keeps none; there the stack is the caller of malloc, if that is known.
void take_without_unwinder(const StackFrame& first, Frames& frames) {
  if (os::own_image().end == 0) {
    add(frames, first.code, first.stack_pointer);
    return follow(first, os::stack_end(first.stack_pointer), frames);
  }
  frames.truncated = true;
  const Address caller = t_heap->caller != 0 ? t_heap->caller : first.code;
  if (!os::is_own_code(caller)) add(frames, caller, first.stack_pointer);
}

}  // namespace

Way way() { return g_way.load(std::memory_order_acquire); }
void set_way(Way way) {
  g_known.store(0, std::memory_order_relaxed);
  g_wrong_steps.store(0, std::memory_order_relaxed);
  g_way.store(way, std::memory_order_release);
}
uint64_t known() { return g_known.load(std::memory_order_relaxed); }

ACRE_NOINLINE static void prepare_unwinder() {
  if (g_is_prepared.exchange(true)) return;
  g_unwinder = os::find_unwinder();
  if (g_unwinder.walk == nullptr) return;
  const bool is_known = os::find_object(reinterpret_cast<Address>(&prepare), &g_own_code) &&
                        os::find_object(reinterpret_cast<Address>(g_unwinder.walk), &g_unwinders_code);
  if (!is_known || g_own_code.start == g_unwinders_code.start) g_unwinders_code = {};
  Frames frames;
  take_by_unwinder({}, 0, frames);  // the unwinder's one-time initialization
  set_way(Way::kKnownWalks);
}

void prepare() {
  prepare_unwinder();
  wipe_stack_below();  // unwinder_that_allocates() would find what the unwinder has left there
}

ACRE_NOINLINE uint64_t take(Frames& frames, LastWalk* last) { return take_from(ACRE_CALLERS_FRAME(), frames, last); }

// by: the walk by known steps that has just been made, and is to be compared; null: there is none.
ACRE_NOINLINE static void take_otherwise(const StackFrame& first, Frames& frames, const LastWalk* by) {
  clear(frames);
  frames.stack_pointer = first.stack_pointer;
  if (way() == Way::kNoUnwinder) return take_without_unwinder(first, frames);
  const Address stack_end = os::stack_end(first.stack_pointer);
  if (by != nullptr) by->copy_to(frames);
  const bool is_by_steps = by != nullptr || take_by_steps(first, stack_end, frames);
  const bool is_known = is_by_steps || (way() == Way::kKnownWalks && take_as_before(first, stack_end, frames));
  if (is_known && by == nullptr && !is_to_be_compared(nullptr)) return;
  if (const Address code = unwinder_that_allocates(frames, first)) {
    if (is_known) return;
    add(frames, code, first.stack_pointer);
    frames.truncated = true;
  } else if (is_known) {
    compare(first, stack_end, is_by_steps, frames);
  } else {
    take_by_unwinder(first, stack_end, frames);
  }
}

ACRE_NOINLINE uint64_t take_from(const StackFrame& first, Frames& frames, LastWalk* last) {
  const bool is_again = last != nullptr && may_take_steps() && last->go(first, g_known_steps);
  if (is_again && ACRE_LIKELY(!is_to_be_compared(last))) return last->hash();
  take_otherwise(first, frames, is_again ? last : nullptr);
  return 0;
}

}  // namespace acre::capture
