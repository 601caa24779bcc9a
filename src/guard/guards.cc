#include "guard/guards.h"

#include <string.h>

#include "base/fatal.h"
#include "base/text.h"
#include "guard/handler.h"
#include "guard/slots.h"
#include "os/os.h"
#include "sample/at_work.h"
#include "sample/capture.h"
#include "sample/clock.h"
#include "sample/profile.h"
#include "sample/random.h"
#include "tables/options.h"

namespace acre::guard {

namespace {

// A thread that is at work already takes no stack: it would allocate without end.
void take_calls(Calls& calls) {
  const AtWork at_work;
  calls.count = 0;
  if (!at_work.is_inner()) {
    capture::Frames frames;
    capture::take(frames);
    calls.count = static_cast<uint16_t>(smaller(frames.count, Calls::kMost));
    calls.truncated = frames.truncated || frames.count > Calls::kMost;
    memcpy(calls.code, frames.address, calls.count * sizeof(Address));
  }
  calls.thread = static_cast<uint32_t>(os::thread_number());
}

[[noreturn]] void overwritten(const Slot* slot, const char* name, Address at) {
  const Address block = slot->block();
  const size_t asked = slot->header.asked;
  const bool is_before = at < block;
  Line<240> text;
  text.add(name).add('(').hex(block).add("): overwritten: byte ").decimal(is_before ? block - at : at - block - asked + 1);
  text.add(is_before ? " before" : " behind").add(" the ").decimal(asked).add(" bytes that were asked for");
  fatal(text.c_str(), pointer_to(block));
}

}  // namespace

void* allocate(PageHeap& home, SizeClass c, size_t asked) {
  if (is_ending()) return nullptr;
  Slot* slot = slots::take(home, c, asked);
  if (slot == nullptr) return nullptr;
  take_calls(slot->allocated);
  watch_for_faults();
  return pointer_to(slot->block());
}

void free(SampledRun* run, const char* name) {
  Slot* slot = reinterpret_cast<Slot*>(run);
  if (!slots::begin_free(slot)) {
    Line<160> text;
    text.add(name).add('(').hex(slot->block()).add("): double free: two threads free the block at once");
    fatal(text.c_str(), pointer_to(slot->block()));
  }
  take_calls(slot->freed);
  if (const Address at = slots::damaged_at(slot)) overwritten(slot, name, at);
  slots::end_free(slot);
}

void at_fork(ForkStage stage) {
  slots::at_fork(stage);
  if (stage == ForkStage::kInChild) forget_other_threads();
}

bool find(const void* p, Where* where) {
  if (!slots::has(address_of(p))) return false;
  const Slot* slot = slots::nearest(address_of(p));
  if (slot == nullptr) return false;
  *where = {slot->block(), slot->bytes(), !slot->is_live()};
  return true;
}

void start() {
  capture::prepare();
  g_explain = explain;
  if (hardened::is_on()) watch_for_faults();
  if (options().guard == Guard::kNone) return;
  random::seed(0);
  clock::set_guards(true, static_cast<uint64_t>(options().guard_sample));
  profile::start_or_stop();
}

}  // namespace acre::guard
