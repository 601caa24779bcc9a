// What the kernel tells a handler of SIGSEGV about the access that failed. context: the handler's third argument.
// Async-signal-safe.
#pragma once

#include "base/units.h"

namespace acre::os {

enum class Access : uint8_t { kUnknown, kRead, kWrite };
Access access_at_fault(const void* context);

// The instruction.
Address code_at_fault(const void* context);

// Whether the handler's stack, one that the program has set for signals, has room for a walk of the stack.
bool has_stack_for_report(const void* context);

}  // namespace acre::os
