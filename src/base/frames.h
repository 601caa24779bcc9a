// Frame records: where frame pointers are kept, each points at a pair of words, the caller's frame pointer and the
// address to return to.
#pragma once

#include "base/units.h"

namespace acre {

struct FrameRecord {
  Address caller;
  Address return_address;
};

// The frame pointer's number as unwinders count registers, and the bits of a return address that are one.
#if defined(__x86_64__)
inline constexpr int kFramePointer = 6;
inline constexpr Address kCodeBits = ~Address{0};
#elif defined(__aarch64__)
inline constexpr int kFramePointer = 29;
inline constexpr Address kCodeBits = (Address{1} << 48) - 1;  // above them: pointer authentication
#else
#error "acre knows the frames of x86-64 and aarch64"
#endif

}  // namespace acre
