// Stack frames. If code keeps frame pointers, each leads to a frame record. On x86-64 and riscv64 a record is the last two
// words of its frame, so the caller's stack pointer is known, too.
#pragma once

#include "base/compiler.h"
#include "base/hash.h"
#include "base/units.h"

namespace acre {

struct FrameRecord {
  Address caller;
  Address return_address;
};

// A stack as sample/capture.h takes it.
struct CapturedFrames {
  static constexpr unsigned kMost = 128;

  unsigned count = 0;
  bool truncated = false;       // there are more frames, or their number is unknown
  Address address[kMost];       // where each frame goes on, innermost first, without acre's own frames
  uint32_t depth[kMost];        // its stack pointer's distance from `stack_pointer`
  Address stack_pointer = 0;    // of the first frame
  void** pointers() { return reinterpret_cast<void**>(address); }
};

// A place in a frame's code, and the registers there.
struct StackFrame {
  Address code = 0;  // a return address, just after a call
  Address stack_pointer = 0;
  Address frame_pointer = 0;
  bool operator==(const StackFrame&) const = default;
};

// Of a stack's return addresses, from the outermost frame inwards.
struct StackHash {
  static constexpr uint64_t kEmpty = 1;
  static constexpr uint64_t step(uint64_t hash, Address code) {
    hash = (hash ^ code) * kHashFactor;
    return hash ^ hash >> 29;
  }
  static uint64_t of(const CapturedFrames& frames) {
    uint64_t hash = kEmpty;
    for (unsigned i = frames.count; i != 0; --i) hash = step(hash, frames.address[i - 1]);
    return hash;
  }
};

// The frame pointer's register number in unwinding tables; whether a record is the end of its frame; how far below the
// frame pointer a record begins; and the bits of a return address that are the address.
#if defined(__x86_64__)
inline constexpr int kFramePointer = 6;
inline constexpr bool kRecordsEndFrames = true;
inline constexpr Address kRecordBelow = 0;
inline constexpr Address kCodeBits = ~Address{0};
#elif defined(__aarch64__)
inline constexpr int kFramePointer = 29;
inline constexpr bool kRecordsEndFrames = false;
inline constexpr Address kRecordBelow = 0;
inline constexpr Address kCodeBits = (Address{1} << 48) - 1;  // above them: pointer authentication
#elif defined(__riscv)
inline constexpr int kFramePointer = 8;
inline constexpr bool kRecordsEndFrames = true;
inline constexpr Address kRecordBelow = sizeof(FrameRecord);
inline constexpr Address kCodeBits = ~Address{0};
#else
#error "acre knows the frames of x86-64, aarch64 and riscv64"
#endif

inline const FrameRecord& record_of(Address frame_pointer) {
  return *reinterpret_cast<const FrameRecord*>(frame_pointer - kRecordBelow);
}

// The frame to which the function returns in which this stands.
#define ACRE_CALLERS_FRAME()                                                                  \
  (::acre::frame_of_caller(::acre::record_of(::acre::address_of(__builtin_frame_address(0))), \
                           ::acre::address_of(__builtin_dwarf_cfa())))
inline StackFrame frame_of_caller(const FrameRecord& own, Address frame_end) {
  return {own.return_address & kCodeBits, frame_end, own.caller};
}

// Zeroes what earlier calls have left on the stack, below the caller's frame.
ACRE_NOINLINE inline void wipe_stack_below() {
  char left[6 << 10];
  __builtin_memset(left, 0, sizeof left);
  asm volatile("" : : "r"(left) : "memory");
}

}  // namespace acre
