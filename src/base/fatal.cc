#include "base/fatal.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include <atomic>

#include "base/syscall.h"
#include "base/text.h"
#include "base/thread_token.h"

namespace acre {

constinit BeforeAbort g_before_abort = nullptr;
constinit Explain g_explain = nullptr;

static constexpr long kSecondsForHandler = 10;
constinit std::atomic<ThreadToken> g_ending{kNoThread};

void forget_other_end() {
  if (!this_thread_ends()) g_ending.store(kNoThread, std::memory_order_relaxed);
}

namespace {

void say(const char* message) {
  Line<512> line;
  line.add("acre: ").add(message).add('\n');
  write_all(2, line.c_str(), line.size());
}

void sleep_for_s(long seconds) {
  struct timespec left = {seconds, 0};
  const long address = reinterpret_cast<long>(&left);
  while (raw_syscall(SYS_nanosleep, address, address) == -EINTR) {
  }
}

}  // namespace

void warn(const char* what, int error) {
  Line<160> line;
  say(line.add(what).add(": error ").decimal(static_cast<uint64_t>(error)).c_str());
}

void fatal_at_once(const char* message) {
  say(message);
  signal(SIGABRT, SIG_DFL);
  abort();
}

// The program's SIGABRT handler runs once. A second error, in the handler or in another thread, ends the program
// without a handler: at once if it is in the handler's thread, and otherwise after the handler had some seconds.
void fatal(const char* message, const void* about) {
  ThreadToken nobody = kNoThread;
  if (g_ending.compare_exchange_strong(nobody, this_thread())) {
    say(message);
    if (g_before_abort != nullptr) g_before_abort();
    if (g_explain != nullptr) g_explain(about);
    abort();
  }
  if (this_thread_ends()) fatal_at_once(message);
  sleep_for_s(kSecondsForHandler);
  signal(SIGABRT, SIG_DFL);
  abort();
}

void assertion_failed(const char* expression, const char* file, int line) {
  Line<400> text;
  text.add("internal error: ").add(expression).add(" does not hold (").add(file).add(':');
  text.decimal(static_cast<uint64_t>(line)).add(")");
  fatal(text.c_str());
}

}  // namespace acre
