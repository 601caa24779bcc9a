// Ends the program with one line that says why.
#pragma once

#include <atomic>

#include "base/compiler.h"
#include "base/thread_token.h"

namespace acre {

// Writes "acre: MESSAGE" to stderr and aborts. Async-signal-safe; allocates nothing. The caller may hold locks if the
// data behind them is consistent: they are released, since the program's SIGABRT handler may allocate. about: a block, or
// a place in or beside one, of which g_explain may know more; null: none.
[[noreturn]] ACRE_COLD void fatal(const char* message, const void* about = nullptr);

// The same where data behind a lock may be half changed: no handler runs.
[[noreturn]] ACRE_COLD void fatal_at_once(const char* message);

// Writes "acre: WHAT: error N" to stderr.
void warn(const char* what, int error);

// fatal() calls it after the message, before it aborts.
using BeforeAbort = void (*)();
extern BeforeAbort g_before_abort ACRE_HIDDEN;

// fatal() calls it last, with no lock held: writes stacks after the message (guard/explain.h).
using Explain = void (*)(const void* about);
extern Explain g_explain ACRE_HIDDEN;

extern std::atomic<ThreadToken> g_ending ACRE_HIDDEN;  // the first thread that called fatal()

// Whether some thread has called fatal(), and whether the calling thread has.
inline bool is_ending() { return ACRE_UNLIKELY(g_ending.load(std::memory_order_relaxed) != kNoThread); }
inline bool this_thread_ends() { return is_ending() && g_ending.load(std::memory_order_relaxed) == this_thread(); }

// In the child of a fork: forgets a fatal() of another thread, which the child does not have.
void forget_other_end();

[[noreturn]] ACRE_COLD void assertion_failed(const char* expression, const char* file, int line);

}  // namespace acre

#if ACRE_DEBUG || ACRE_TESTING
#define ACRE_ASSERT(e) (ACRE_LIKELY(e) ? static_cast<void>(0) : ::acre::assertion_failed(#e, __FILE__, __LINE__))
#else
#define ACRE_ASSERT(e) static_cast<void>(0)
#endif
