#include "reclaim/quiet_runs.h"

#include "pages/page_map.h"
#include "pages/release_rate.h"
#include "slab/purge.h"
#include "slab/transitions.h"
#include "slab/unit_table.h"
#include "tables/options.h"

namespace acre::quiet_runs {

namespace {

constexpr uint64_t kStepMs = 20;  // at least, from one step to the next
constexpr uint64_t kHeadersPerMs = 16;
constexpr uint64_t kMsPerPurge = 4;
constexpr uint64_t kMostMs = 2000;  // a step does no more work than for this time
constexpr uint64_t kLeastPassMs = 100, kMostPassMs = 1000;

constinit std::atomic<uint64_t> g_next_ms{0};   // when a step is due
constinit std::atomic<uint64_t> g_last_ms{0};
constinit std::atomic<size_t> g_cursor{0};      // the next unit; 0: between two passes
constinit std::atomic<bool> g_waiting{false};   // a run has to wait, by this pass or expect()
constinit std::atomic<bool> g_waited{false};    // the same by the last pass

// In the hardened mode runs keep their pages: its checks are not proved for blocks on purged pages.
size_t units() { return options().hardened ? 0 : unit_table::used_bytes() / sizeof(Slab); }
Slab* header(size_t unit) { return unit_table::first_header() + unit; }

uint64_t pass_ms() {
  const int64_t decay_ms = relaxed_load(options().dirty_decay_ms);
  if (decay_ms < 0) return kMostPassMs;
  return larger(kLeastPassMs, smaller(kMostPassMs, static_cast<uint64_t>(decay_ms) / 10));
}

// Pages of a file or device would not become free; those of the program's functions are its own.
bool may_purge() { return Source::automatic() == nullptr && !Source::has_program(); }

// Bytes of a huge page that are free, or free blocks of runs in bins. Other threads change runs meanwhile.
size_t free_in(Address huge_page) {
  size_t free = 0;
  Address at = huge_page;
  const Run* run = g_page_map.find_covering(pointer_to(at));
  for (const Address end = huge_page + kHugePageBytes; at < end; run = g_page_map.find(pointer_to(at))) {
    const Address run_end = run == nullptr ? 0 : racy_load(run->base) + (racy_load(run->pages) << kPageShift);
    const Address next = run_end > at ? run_end : at + kPageBytes;
    if (run != nullptr && racy_load(run->kind) == RunKind::kFree) free += smaller(next, end) - at;
    if (run != nullptr && racy_load(run->kind) == RunKind::kSlab) {
      const Slab* slab = racy_load(run->slab);
      if (relaxed_load(slab->binned_in) != nullptr) free += load_remote(slab).free * size_t{racy_load(slab->block_bytes)};
    }
    at = next;
  }
  return free;
}

// The bin that the run is in, if it is one of an automatic arena, which never goes away, and with `only` of that arena.
// Else null. The run may have left the bin by the time that the caller has locked it.
Bin* automatic_bin(const Slab* slab, const Arena* only = nullptr) {
  Bin* bin = relaxed_load(slab->binned_in);
  for (unsigned i = 0; bin != nullptr && i < arenas::count(); ++i) {
    Arena* arena = arenas::at(i);
    const bool is_there = bin >= &arena->bin(0) && bin < &arena->bin(0) + kSmallClasses;
    if (is_there) return only == nullptr || arena == only ? bin : nullptr;
  }
  return nullptr;
}

// Whether the unit lies in a whole huge page of which less than half is free: as decay, a look leaves it whole. Knows the
// answer for the last huge page.
class HugePages {
 public:
  bool keep(size_t unit) {
    const Address page = align_down(window::start() + unit * unit_table::kUnitBytes, kHugePageBytes);
    if (page == last_) return kept_;
    last_ = page;
    return kept_ = huge_pages::is_whole(page) && free_in(page) < kHugePageBytes / 2;
  }

 private:
  Address last_ = 0;
  bool kept_ = false;
};

size_t put_back(Bin* bin, Slab* slab) {
  const size_t purged = slab::purge(slab);
  if (bin->offer(slab)) slab::free_pages(slab);
  return purged;
}

// Returns whether the run was purged.
bool look_at(size_t unit, uint64_t now_ms, HugePages& huge) {
  Slab* slab = header(unit);
  Bin* bin = automatic_bin(slab);
  if (bin == nullptr || huge.keep(unit)) return false;
  switch (bin->take_quiet(slab, now_ms)) {
    case Bin::Quiet::kNot: return false;
    case Bin::Quiet::kNotYet: g_waiting.store(true, std::memory_order_relaxed); return false;
    case Bin::Quiet::kTaken: break;
  }
  put_back(bin, slab);
  return true;
}

bool my_turn(uint64_t now_ms) {
  uint64_t due = g_next_ms.load(std::memory_order_relaxed);
  return now_ms >= due && g_next_ms.compare_exchange_strong(due, now_ms + kStepMs);
}

void go_on(uint64_t now_ms, uint64_t ms) {
  size_t unit = g_cursor.load(std::memory_order_relaxed);
  const size_t end = smaller(units(), unit + ms * kHeadersPerMs);
  HugePages huge;
  for (uint64_t purges = 0; unit < end && purges * kMsPerPurge < ms; ++unit) purges += look_at(unit, now_ms, huge);
  const bool is_over = unit >= units();
  g_cursor.store(is_over ? 0 : unit, std::memory_order_relaxed);
  if (!is_over) return;
  g_waited.store(g_waiting.exchange(false), std::memory_order_relaxed);
  g_next_ms.store(now_ms + pass_ms(), std::memory_order_relaxed);
}

}  // namespace

uint64_t step(uint64_t now_ms, uint64_t times_faster) {
  if (release_rate::get() != release_rate::kByDecay || !may_purge()) return kNever;
  if (my_turn(now_ms)) {
    const uint64_t passed = now_ms - smaller(now_ms, g_last_ms.exchange(now_ms, std::memory_order_relaxed));
    go_on(now_ms, smaller(larger(passed, kStepMs), kMostMs) * times_faster);
  }
  const bool is_needed = g_cursor.load(std::memory_order_relaxed) != 0 || g_waited.load(std::memory_order_relaxed) ||
                         g_waiting.load(std::memory_order_relaxed);
  return is_needed ? g_next_ms.load(std::memory_order_relaxed) : kNever;
}

void expect() { g_waiting.store(true, std::memory_order_relaxed); }

ACRE_COLD size_t purge_all(Arena* only) {
  size_t purged = 0;
  if (!may_purge()) return purged;
  for (size_t unit = 0; unit < units(); ++unit) {
    Slab* slab = header(unit);
    Bin* bin = automatic_bin(slab, only);
    if (bin != nullptr && bin->take_quiet(slab, kNever) == Bin::Quiet::kTaken) {
      purged += put_back(bin, slab);
    }
  }
  return purged;
}

static size_t bits_in(uint64_t bits) {
  size_t count = 0;
  for (; bits != 0; bits &= bits - 1) ++count;
  return count;
}

ACRE_COLD PageUse use_of_pages() {
  PageUse use;
  for (size_t unit = 0; unit < units(); ++unit) {
    const Slab* slab = header(unit);
    if (relaxed_load(slab->base) == 0) continue;
    Bin* bin = automatic_bin(slab);
    uint64_t live;
    const size_t cut = pages_for(size_t{racy_load(slab->carved)} * racy_load(slab->block_bytes));
    use.runs += racy_load(slab->pages);
    use.live += bin != nullptr && bin->find_live_pages(slab, &live) ? bits_in(live) : cut;
    if (slab::has_purged(slab)) use.returned += bits_in(racy_load(slab->run->purged));
  }
  return use;
}

}  // namespace acre::quiet_runs
