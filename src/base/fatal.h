// The end of the program, with one line that says why.
#pragma once

#include "base/compiler.h"

namespace acre {

// Writes "acre: MESSAGE" to stderr and aborts. Async-signal-safe; allocates nothing. May be called with locks held,
// where what they guard is whole: the program's handler for SIGABRT may allocate, in this thread and in others.
[[noreturn]] ACRE_COLD void fatal(const char* message);

// The same, where what locks guard may be half changed: no handler is called.
[[noreturn]] ACRE_COLD void fatal_at_once(const char* message);

// Called by fatal() between the two.
using BeforeAbort = void (*)();
extern BeforeAbort g_before_abort ACRE_HIDDEN;

// Whether some thread is in fatal(); whether the calling one is.
bool is_ending();
bool this_thread_ends();

// In the child of a fork: a thread that ends the parent is not here.
void forget_other_end();

[[noreturn]] ACRE_COLD void assertion_failed(const char* expression, const char* file, int line);

}  // namespace acre

// Checked in debug and test builds only.
#if ACRE_DEBUG || ACRE_TESTING
#define ACRE_ASSERT(e) (ACRE_LIKELY(e) ? static_cast<void>(0) : ::acre::assertion_failed(#e, __FILE__, __LINE__))
#else
#define ACRE_ASSERT(e) static_cast<void>(0)
#endif
