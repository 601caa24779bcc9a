#include "cache/allowance.h"
#include "control/properties.h"

#include <string.h>

#include "cache/heap.h"
#include "control/ctl.h"
#include "control/statistics.h"
#include "tables/release_speed.h"

namespace acre::properties {

namespace {

// Figures that are gathered when a property first asks for them.
class Lazily {
 public:
  using Gather = ProcessStatistics();
  explicit Lazily(Gather* gather) : gather_(gather) {}
  const ProcessStatistics& operator()() {
    if (!gathered_) figures_ = gather_();
    gathered_ = true;
    return figures_;
  }

 private:
  Gather* gather_;
  bool gathered_ = false;
  ProcessStatistics figures_;
};

// Free blocks in TCMalloc's three places: in threads, on their way between threads, and with no thread. The ends of
// runs and pages in transit count as no thread's, so that all bytes that are not allocated are counted somewhere.
size_t at_threads(const ProcessStatistics& s) { return s.private_lists + s.deferred + s.uncarved; }
size_t on_their_way(const ProcessStatistics& s) { return s.remote_lists + s.outboxes; }
size_t with_nobody(const ProcessStatistics& s) { return s.run_free + s.run_rest + s.transit; }

size_t free_pages(const ProcessStatistics& s) { return s.dirty + s.muzzy + s.purging; }
size_t committed_bytes(const ProcessStatistics& s) { return s.active + free_pages(s); }

bool set_option(const char* node, int64_t value) {
  return ctl::by_name(node, nullptr, nullptr, &value, sizeof value) == 0;
}

bool set_decay_ms(int64_t ms) { return set_option("opt.dirty_decay_ms", ms) && set_option("opt.release_rate", -1); }

size_t now(const int64_t& option) { return static_cast<size_t>(relaxed_load(option)); }

bool is_aggressive() { return relaxed_load(options().dirty_decay_ms) == 0; }

bool set_aggressive(size_t on) {
  if (on != 0) return set_decay_ms(0);
  return is_aggressive() ? set_decay_ms(release_speed::kDefaultMs) : true;
}

// The bound in force. If the option sets none, acre does.
size_t thread_cache_max() {
  const int64_t chosen = relaxed_load(options().thread_cache_max);
  return chosen >= 0 ? static_cast<size_t>(chosen) : shared_allowance();
}

// shift: how many zeroes the unit of value stands for.
bool set_bytes(const char* node, size_t value, unsigned shift = 0) {
  return value <= size_t{kMostBytes} >> shift && set_option(node, static_cast<int64_t>(value << shift));
}

}  // namespace

// R(name, value): a property that is only read. s() are all figures; p() are those of pages, which take less time.
// W(name, value, change): `change` sets the property to `to`, and is false if `to` is out of range.
#define ACRE_PROPERTIES(R, W) \
  R("generic.current_allocated_bytes", s().allocated) \
  R("generic.heap_size", committed_bytes(p()) + p().clean) \
  R("generic.total_physical_bytes", p().resident) \
  W("tcmalloc.max_total_thread_cache_bytes", thread_cache_max(), set_bytes("opt.thread_cache_max", to)) \
  W("tcmalloc.min_per_thread_cache_bytes", now(options().thread_cache_min), set_bytes("opt.thread_cache_min", to)) \
  R("tcmalloc.current_total_thread_cache_bytes", at_threads(s())) \
  R("tcmalloc.thread_cache_free_bytes", at_threads(s())) \
  R("tcmalloc.transfer_cache_free_bytes", on_their_way(s())) \
  R("tcmalloc.central_cache_free_bytes", with_nobody(s())) \
  R("tcmalloc.pageheap_free_bytes", free_pages(p())) \
  R("tcmalloc.pageheap_unmapped_bytes", p().clean) \
  R("tcmalloc.slack_bytes", free_pages(p()) + p().clean) \
  R("tcmalloc.pageheap_committed_bytes", committed_bytes(p())) \
  R("tcmalloc.pageheap_scavenge_count", p().purges) \
  R("tcmalloc.pageheap_decommit_count", p().purges) \
  R("tcmalloc.pageheap_total_decommit_bytes", p().purged) \
  R("tcmalloc.pageheap_total_commit_bytes", committed_bytes(p()) + p().purged) \
  W("tcmalloc.heap_limit_mb", now(options().hard_limit) >> 20, set_bytes("opt.hard_limit", to, 20)) \
  W("tcmalloc.aggressive_memory_decommit", is_aggressive(), set_aggressive(to)) \
  R("tcmalloc.impl.thread_cache_count", p().threads)

bool get(const char* name, size_t* value) {
  Lazily s(gather_blocks), p(gather_pages);
#define ACRE_R(property, expression)   \
  if (strcmp(name, property) == 0) {   \
    *value = expression;               \
    return true;                       \
  }
#define ACRE_W(property, expression, change) ACRE_R(property, expression)
  ACRE_PROPERTIES(ACRE_R, ACRE_W)
#undef ACRE_R
#undef ACRE_W
  return false;
}

bool set(const char* name, size_t to) {
#define ACRE_R(property, expression)
#define ACRE_W(property, expression, change) \
  if (strcmp(name, property) == 0) return change;
  ACRE_PROPERTIES(ACRE_R, ACRE_W)
#undef ACRE_R
#undef ACRE_W
  return false;
}

double release_rate() {
  const int64_t bytes_per_second = relaxed_load(options().release_rate);
  if (bytes_per_second >= 0) return bytes_per_second == 0 ? 0 : -1;
  return release_speed::from_ms(relaxed_load(options().dirty_decay_ms));
}

bool set_release_rate(double rate) { return rate >= 0 && set_decay_ms(release_speed::to_ms(rate)); }

}  // namespace acre::properties
