// The stack table: each stack once, found by a hash of its frames.
#pragma once

#include "sample/capture.h"
#include "sample/profile.h"
#include "sample/python.h"

namespace acre::profile {

// A stack as it was captured. The native frames come last: capture.cc expects only acre's frames above them.
struct Trace {
  python::Frames python;
  capture::Frames native;
};
ACRE_ALWAYS_INLINE Trace take_trace() {
  Trace trace;
  capture::take(trace.native);
  if (python::is_active()) python::take(trace.native, trace.python);
  return trace;
}

// Its frames follow it in memory, the native ones first.
struct Stack {
  Stack* next_alike = nullptr;  // in the same bucket
  Stack* next = nullptr;        // of all stacks, in order of creation
  uint64_t hash = 0;
  uint32_t count = 0;
  uint16_t python_count = 0;
  bool truncated = false;
  uint64_t peak = 0;            // number of the peak to which `sums.live_at_peak` belongs
  StackSums sums;
  uint64_t row = 0;             // where its row is in that file (postmortem.h)
  uint32_t row_file = 0;        // 0: in none

  Address* frames() { return reinterpret_cast<Address*>(this + 1); }
  const Address* frames() const { return reinterpret_cast<const Address*>(this + 1); }
  python::Frame* python_frames() { return reinterpret_cast<python::Frame*>(frames() + count); }
  const python::Frame* python_frames() const { return reinterpret_cast<const python::Frame*>(frames() + count); }
};

// Memory from which pieces are cut. Protected by the lock of its owner.
struct Memory {
  char* next = nullptr;
  char* end = nullptr;

  size_t left() const { return static_cast<size_t>(end - next); }
  void* cut(size_t bytes) {
    void* piece = next;
    next += bytes;
    return piece;
  }
};

// All functions require the profile's lock.
class Stacks {
 public:
  static constexpr size_t kBuckets = 1u << 14;
  static constexpr size_t kBucketBytes = kBuckets * sizeof(Stack*);
  static constexpr size_t kRoomNeeded = sizeof(Stack) + capture::kMostFrames * sizeof(Address) + sizeof(python::Frames);

  // Sets zeroed memory for the buckets, before any other call. A second call does nothing.
  void set_buckets(void* memory) {
    if (buckets_ == nullptr) buckets_ = static_cast<Stack**>(memory);
  }

  bool has_room() const { return room_.left() >= kRoomNeeded; }
  void add_room(void* memory, size_t bytes);

  // Returns the stack with these frames, and adds it if it is new; has_room() must be true. When kMostStacks is
  // reached, returns the stack without frames in place of a new one.
  Stack* find(const Trace& trace);

  Stack* first() const { return first_; }
  unsigned count() const { return count_; }

 private:
  Stack* look_up(const Trace& trace, uint64_t hash) const;
  Stack* add(const Trace& trace, uint64_t hash);
  Stack* without_frames();

  Stack** buckets_ = nullptr;
  Stack* first_ = nullptr;
  Stack* last_ = nullptr;
  unsigned count_ = 0;
  Memory room_;
};

}  // namespace acre::profile
