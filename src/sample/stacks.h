// The stack table: each stack once, found by a hash of its frames.
#pragma once

#include "sample/capture.h"
#include "sample/profile.h"

namespace acre::profile {

// Followed by its frames.
struct Stack {
  Stack* next_alike = nullptr;  // of the same bucket
  Stack* next = nullptr;        // of all
  uint64_t hash = 0;
  uint32_t count = 0;
  bool truncated = false;
  uint64_t peak = 0;            // number of the peak that `sums.live_at_peak` is of
  StackSums sums;

  Address* frames() { return reinterpret_cast<Address*>(this + 1); }
  const Address* frames() const { return reinterpret_cast<const Address*>(this + 1); }
};

// Memory that is cut off piece by piece. Under the lock of whoever has it.
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

// All functions: under the profile's lock.
class Stacks {
 public:
  static constexpr size_t kBuckets = 1u << 14;
  static constexpr size_t kBucketBytes = kBuckets * sizeof(Stack*);
  static constexpr size_t kRoomNeeded = sizeof(Stack) + capture::kMostFrames * sizeof(Address);

  // Zeroed memory for the buckets; before the others. Another one is not taken.
  void set_buckets(void* memory) {
    if (buckets_ == nullptr) buckets_ = static_cast<Stack**>(memory);
  }

  bool has_room() const { return room_.left() >= kRoomNeeded; }
  void add_room(void* memory, size_t bytes);

  // The stack with these frames; a new one if there was none, which takes room.
  Stack* find(const capture::Frames& frames);

  Stack* first() const { return first_; }
  unsigned count() const { return count_; }

 private:
  Stack* add(const capture::Frames& frames, uint64_t hash);

  Stack** buckets_ = nullptr;
  Stack* first_ = nullptr;
  Stack* last_ = nullptr;
  unsigned count_ = 0;
  Memory room_;
};

}  // namespace acre::profile
