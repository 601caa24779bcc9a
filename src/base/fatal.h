// The end of the program, with one line that says why.
#pragma once

#include "base/compiler.h"

namespace acre {

// Writes "acre: MESSAGE" to stderr and aborts. Async-signal-safe; allocates nothing.
[[noreturn]] ACRE_COLD void fatal(const char* message);

[[noreturn]] ACRE_COLD void assertion_failed(const char* expression, const char* file, int line);

}  // namespace acre

// Checked in debug and test builds only.
#if ACRE_DEBUG || ACRE_TESTING
#define ACRE_ASSERT(e) (ACRE_LIKELY(e) ? static_cast<void>(0) : ::acre::assertion_failed(#e, __FILE__, __LINE__))
#else
#define ACRE_ASSERT(e) static_cast<void>(0)
#endif
