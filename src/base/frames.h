// Frame records: where frame pointers are kept, each points at a pair of words, the caller's frame pointer and the
// address to return to. On x86-64 these are a frame's last words, so that the caller's stack pointer is known, too.
#pragma once

#include "base/units.h"

namespace acre {

struct FrameRecord {
  Address caller;
  Address return_address;
};

// Where the code of a frame goes on, and the registers there.
struct StackFrame {
  Address code = 0;  // after a call
  Address stack_pointer = 0;
  Address frame_pointer = 0;
};

// The frame pointer's number in unwinding tables, whether a frame's return address is its last word, and the bits of a
// return address that are one.
#if defined(__x86_64__)
inline constexpr int kFramePointer = 6;
inline constexpr bool kRecordsEndFrames = true;
inline constexpr Address kCodeBits = ~Address{0};
#elif defined(__aarch64__)
inline constexpr int kFramePointer = 29;
inline constexpr bool kRecordsEndFrames = false;
inline constexpr Address kCodeBits = (Address{1} << 48) - 1;  // above them: pointer authentication
#else
#error "acre knows the frames of x86-64 and aarch64"
#endif

}  // namespace acre
