// An integer that names a live thread: the address of its thread control block, which one instruction reads. No two
// live threads share one; a later thread may get it again.
#pragma once

#include "base/compiler.h"
#include "base/units.h"

namespace acre {

using ThreadToken = Address;
inline constexpr ThreadToken kNoThread = 0;

// An observed heap (cache/heap.h) owns its runs under the thread's token with this bit. free() then takes the slow path.
inline constexpr ThreadToken kObservedBit = 1;
constexpr ThreadToken thread_of(ThreadToken token) { return token & ~kObservedBit; }

ACRE_ALWAYS_INLINE ThreadToken this_thread() { return reinterpret_cast<ThreadToken>(__builtin_thread_pointer()); }

}  // namespace acre
