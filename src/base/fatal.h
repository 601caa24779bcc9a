// Ends the program with one line that says why.
#pragma once

#include "base/compiler.h"

namespace acre {

// Writes "acre: MESSAGE" to stderr and aborts. Async-signal-safe; allocates nothing. The caller may hold locks if the
// data behind them is consistent: they are released, since the program's SIGABRT handler may allocate.
[[noreturn]] ACRE_COLD void fatal(const char* message);

// The same where data behind a lock may be half changed: no handler runs.
[[noreturn]] ACRE_COLD void fatal_at_once(const char* message);

// Writes "acre: WHAT: error N" to stderr.
void warn(const char* what, int error);

// fatal() calls it after the message, before it aborts.
using BeforeAbort = void (*)();
extern BeforeAbort g_before_abort ACRE_HIDDEN;

// Whether some thread has called fatal(), and whether the calling thread has.
bool is_ending();
bool this_thread_ends();

// In the child of a fork: forgets a fatal() of another thread, which the child does not have.
void forget_other_end();

[[noreturn]] ACRE_COLD void assertion_failed(const char* expression, const char* file, int line);

}  // namespace acre

#if ACRE_DEBUG || ACRE_TESTING
#define ACRE_ASSERT(e) (ACRE_LIKELY(e) ? static_cast<void>(0) : ::acre::assertion_failed(#e, __FILE__, __LINE__))
#else
#define ACRE_ASSERT(e) static_cast<void>(0)
#endif
