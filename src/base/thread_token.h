// An integer that names the calling thread while it lives: the address of its thread control block.
// Reading it is one instruction, and no two live threads share it; a later thread may get it again.
#pragma once

#include "base/compiler.h"
#include "base/units.h"

namespace acre {

using ThreadToken = Address;
inline constexpr ThreadToken kNoThread = 0;

ACRE_ALWAYS_INLINE ThreadToken this_thread() { return reinterpret_cast<ThreadToken>(__builtin_thread_pointer()); }

}  // namespace acre
