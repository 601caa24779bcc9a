// What libgcc's unwinder says of the stack: what captures are held against.
#pragma once

#include <gnu/libc-version.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>

#include "base/frames.h"
#include "cache/free.h"
#include "cache/known_caller.h"
#include "cache/malloc.h"
#include "os/unwind.h"
#include "sample/capture.h"
#include "sample/last_walk.h"

// What makes a function keep a frame pointer.
#define TEST_FRAME_POINTER asm volatile("" : : "r"(__builtin_frame_address(0)) : "memory")

namespace acre::test {

inline const os::Unwinder& unwinder() {
  static const os::Unwinder found = os::find_unwinder();
  return found;
}

struct Reference {
  unsigned count = 0;
  Address address[1000];
};
inline int note(os::UnwindContext* context, void* argument) {
  auto& all = *static_cast<Reference*>(argument);
  int is_interrupted;
  const Address code = unwinder().code(context, &is_interrupted);
  if (code == 0 || all.count == std::size(all.address)) return 1;
  all.address[all.count++] = code;
  return 0;
}

inline void get_heap() {
  if (heap_if_any() == nullptr) release(allocate(1));
}

// As within malloc, called by the C library: by a function that no sanitizer replaces. The stack has addresses of the
// unwinder's code from earlier walks, which must not count then.
ACRE_ALWAYS_INLINE void take_as_allocating(capture::Frames& frames, bool keeps_walk = false) {
  get_heap();
  const KnownCaller known(heap_if_any(), reinterpret_cast<const void*>(&gnu_get_libc_version));
  static thread_local capture::LastWalk last_walk;
  const uint64_t hash = capture::take(frames, keeps_walk ? &last_walk : nullptr);
  if (hash == 0) return;
  last_walk.copy_to(frames);
  if (StackHash::of(frames) != hash) frames.count = 0;
}

struct Taken {
  unsigned captures = 0;
  unsigned wrong = 0;
  unsigned frames = 0;  // of the last one
};

// Whether take() gives what the unwinder gives.
__attribute__((noinline)) inline void take_both_ways(Taken& to, bool keeps_walk = false) {
  TEST_FRAME_POINTER;
  capture::Frames taken;
  take_as_allocating(taken, keeps_walk);
  Reference reference;
  unwinder().walk(note, &reference);
  // Both begin with this function, at two places in it.
  const Address* end = reference.address + reference.count;
  const Address code = address_of(__builtin_return_address(0)) & kCodeBits;
  const auto* caller = std::find(std::cbegin(reference.address), end, code);
  const auto all = static_cast<unsigned>(end - caller) + 1;
  const unsigned count = std::min(all, capture::kMostFrames);
  const bool is_right = taken.truncated == (all > count) && taken.count == count &&
                        memcmp(taken.address + 1, caller, (taken.count - 1) * sizeof(Address)) == 0;
  ++to.captures;
  to.frames = taken.count;
  if (!is_right) ++to.wrong;
}

// Where there is an unwinder; afterwards captures go the first way again.
class WithUnwinder : public testing::Test {
 protected:
  void SetUp() override {
    if (unwinder().walk == nullptr) GTEST_SKIP() << "there is no unwinder";
    capture::prepare();
    capture::set_way(capture::Way::kKnownWalks);
  }
  void TearDown() override { capture::set_way(capture::Way::kKnownWalks); }
};

}  // namespace acre::test
