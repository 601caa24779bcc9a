#include "live/snapshot.h"

#include "base/bits.h"
#include "control/print.h"
#include "os/os.h"
#include "sample/postmortem.h"

namespace acre::snapshot {

namespace {

// A short-lived program is seen at least once; a long-lived one once a second.
constexpr uint64_t kFirstMs = 5;
constexpr uint64_t kMostMs = 1000;

constinit uint64_t g_interval_ms = kFirstMs;
constinit uint64_t g_next_ms = 0;
constinit std::atomic<uint32_t> g_busy{0};  // 1: a thread writes

void add(void*, const char* text) { postmortem::add_statistics(text); }

}  // namespace

void write() {
  while (g_busy.exchange(1) != 0) os::wait_while(g_busy, 1, kMostMs);
  postmortem::begin_statistics();
  print_statistics(options().stats_format, Omitted{}, add, nullptr);
  postmortem::end_statistics();
  postmortem::copy_mappings();
  g_busy.store(0);
  os::wake(g_busy);
}

void after_fork_in_child() {
  g_busy.store(0);
  g_next_ms = 0;
  g_interval_ms = kFirstMs;
}

uint64_t look() {
  if (!postmortem::is_on()) return kNever;
  const uint64_t now = os::now_ms();
  if (now < g_next_ms) return g_next_ms - now;
  write();
  g_next_ms = now + g_interval_ms;
  g_interval_ms = smaller(2 * g_interval_ms, kMostMs);
  return g_next_ms - now;
}

}  // namespace acre::snapshot
