#include "leaks/before_main.h"

#include "sample/capture.h"

namespace acre::leaks {

namespace {

// Counted from the outermost frame: _start, __libc_start_main, and the function that calls main.
constexpr unsigned kMainsFrames = 3;
constexpr Address kFunction = 256;  // that function is no longer than this, so its calls lie so near each other

struct Outermost {
  Address frame[kMainsFrames] = {};
  bool known = false;
};
constinit Outermost g_constructors;
constinit Outermost g_main;

bool take_outermost(const Address* frames, unsigned count, Outermost* to) {
  if (count < kMainsFrames) return false;
  for (unsigned i = 0; i < kMainsFrames; ++i) to->frame[i] = frames[count - 1 - i];
  return true;
}

ACRE_NOINLINE void learn(Outermost* to) {
  capture::Frames frames;
  capture::take(frames);
  if (!frames.truncated) to->known = take_outermost(frames.address, frames.count, to);
}

bool is_near(Address a, Address b) { return a - b + kFunction < 2 * kFunction; }

}  // namespace

void learn_constructors_stack() { learn(&g_constructors); }
void learn_mains_stack() { learn(&g_main); }

bool is_from_before_main(const profile::Stack* stack) {
  const Address* frames;
  const unsigned count = profile::frames_of(stack, &frames);
  Outermost own;
  if (profile::is_truncated(stack) || !take_outermost(frames, count, &own)) return false;
  if (g_constructors.known && own.frame[0] == g_constructors.frame[0] &&
      (!g_main.known || own.frame[0] != g_main.frame[0])) {
    return true;  // called by the loader
  }
  if (!g_main.known || own.frame[0] != g_main.frame[0]) return false;  // from another thread, or not known
  return !is_near(own.frame[2], g_main.frame[2]);
}

}  // namespace acre::leaks
