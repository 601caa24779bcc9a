#include "guard/explain.h"

#include "base/text.h"
#include "cache/known_caller.h"
#include "guard/slots.h"
#include "os/module.h"
#include "os/os.h"
#include "sample/capture.h"
#include "sample/profile.h"
#include "tables/options.h"

namespace acre::guard {

namespace {

void write(const Text& text) { write_all(2, text.c_str(), text.size()); }

// As in reports of large allocations: the address, and the place in the module's file.
void write_frame(Address code) {
  Line<1200> text;
  text.add("acre:   ").hex(code);
  os::Module module;
  if (os::find_module(code, &module)) {
    char program[1024];
    const char* path = module.path;
    if (*path == '\0') {
      const long length = os::read_link("/proc/self/exe", program, sizeof program - 1);
      program[length > 0 ? length : 0] = '\0';
      path = length > 0 ? program : "the program";
    }
    text.add("  ").add(path).add('+').hex(code - module.base);
  }
  write(text.add('\n'));
}

void write_frames(const Address* code, unsigned count, bool truncated) {
  for (unsigned i = 0; i < count; ++i) write_frame(code[i]);
  if (!truncated && count != 0) return;
  Line<40> text;
  write(text.add("acre:   (there may be more)\n"));
}

void write_calls(const char* what, const Calls& calls) {
  if (calls.thread == 0) return;
  Line<80> text;
  write(text.add("acre: ").add(what).add(" by thread ").decimal(calls.thread).add(":\n"));
  write_frames(calls.code, smaller<unsigned>(calls.count, Calls::kMost), calls.truncated);
}

// The ticket of a live block that the heap profiler sampled and in which the place lies.
Ticket ticket_at(const void* p) {
  const Run* run = g_page_map.find_covering(p);
  if (run == nullptr) return kNoTicket;
  if (run->kind == RunKind::kLarge || run->kind == RunKind::kHuge) return run->ticket;
  if (run->kind != RunKind::kSampled || !sampled_runs::is_of(run->sampled, run)) return kNoTicket;
  const size_t offset = (address_of(p) - run->sampled->base) % run->sampled->block_bytes;
  const Ticket ticket = sampled_runs::ticket_of(run->sampled, pointer_to(address_of(p) - offset));
  return ticket == sampled_runs::kDead ? kNoTicket : ticket;
}

void write_sampled_stack(const void* p) {
  if (!profile::is_prepared()) return;
  const Ticket ticket = ticket_at(p);
  const profile::Stack* stack = ticket == kNoTicket ? nullptr : profile::origin_of(ticket).stack;
  if (stack == nullptr) return;
  Line<40> text;
  write(text.add("acre: allocated by:\n"));
  const Address* code;
  const unsigned count = profile::frames_of(stack, &code);
  write_frames(code, count, profile::is_truncated(stack));
}

}  // namespace

void write_stacks_of(Address a) {
  const Slot* slot = slots::nearest(a);
  if (slot == nullptr) return;
  write_calls("allocated", slot->allocated);
  if (!slot->is_live()) write_calls("freed", slot->freed);
}

void write_interrupted_stack(Address code) {
  Line<80> text;
  write(text.add("acre: this access by thread ").decimal(os::thread_number()).add(":\n"));
  const KnownCaller known(heap_if_any(), pointer_to(code));  // not the unwinder, which must not be called again
  capture::Frames frames;
  capture::take(frames);
  unsigned at = 0;
  while (at < frames.count && frames.address[at] != code) ++at;
  if (at == frames.count) return write_frames(&code, 1, true);
  write_frames(frames.address + at, frames.count - at, frames.truncated);
}

void explain(const void* about) {
  const Address a = address_of(about);
  slots::has(a) ? write_stacks_of(a) : write_sampled_stack(about);
  if (!options().abort_backtrace) return;
  Line<80> text;
  write(text.add("acre: this call by thread ").decimal(os::thread_number()).add(":\n"));
  capture::Frames frames;
  capture::take(frames);
  write_frames(frames.address, frames.count, frames.truncated);
}

}  // namespace acre::guard
