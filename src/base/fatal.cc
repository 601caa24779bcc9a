#include "base/fatal.h"

#include <signal.h>
#include <stdlib.h>

#include <atomic>

#include "base/text.h"
#include "base/thread_token.h"

namespace acre {

constinit BeforeAbort g_before_abort = nullptr;

static constinit std::atomic<ThreadToken> g_ending{kNoThread};  // the first thread that called fatal()

bool is_ending() { return g_ending.load(std::memory_order_relaxed) != kNoThread; }
bool this_thread_ends() { return g_ending.load(std::memory_order_relaxed) == this_thread(); }

void forget_other_end() {
  if (!this_thread_ends()) g_ending.store(kNoThread, std::memory_order_relaxed);
}

// A second time in the same thread: the program's handler misuses a block, and would be called again without end.
void fatal(const char* message) {
  Line<512> line;
  line.add("acre: ").add(message).add('\n');
  write_all(2, line.c_str(), line.size());
  ThreadToken nobody = kNoThread;
  if (g_ending.compare_exchange_strong(nobody, this_thread())) {
    if (g_before_abort != nullptr) g_before_abort();
  } else if (this_thread_ends()) {
    signal(SIGABRT, SIG_DFL);
  }
  abort();
}

void assertion_failed(const char* expression, const char* file, int line) {
  Line<400> text;
  text.add("internal error: ").add(expression).add(" does not hold (").add(file).add(':');
  text.decimal(static_cast<uint64_t>(line)).add(")");
  fatal(text.c_str());
}

}  // namespace acre
