// Guard pages beside large blocks, and in place of those that were freed last (find_guarded_run and free_guarded_run of
// cache/upcalls.h).
//
// A guard is a run of one page, cut off the block's run, whose `older` names that run. The pages of a freed block are a
// guard, too, until kMostRetired more were freed, or kMostBytes. Their memory goes back to the system at once, so the
// block that comes next reads zeroes.
//
// That costs system calls, page faults, and a halt of the program's other processors. So it happens to kMostAtOnce
// blocks of up to kUnit bytes, and to one more each kNsForOne; a longer one counts as several. Blocks of up to
// kMostReadyBytes that are freed beyond that are *ready*: they wait, with their guards and their memory, for a request
// of as many pages.
#include <atomic>
#include <utility>

#include "base/bits.h"
#include "cache/large.h"
#include "hardened/hardened.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/page_heap.h"
#include "pages/page_map.h"
#include "slab/guard_pages.h"

namespace acre::hardened {

namespace {

constexpr unsigned kMostRetired = 32;
constexpr size_t kMostBytes = size_t{64} << 20;

constinit std::atomic<Run*> g_retired[kMostRetired];
constinit std::atomic<unsigned> g_next{0};
constinit std::atomic<size_t> g_bytes{0};

constexpr int64_t kMostAtOnce = 64;
constexpr uint64_t kNsForOne = 1000000;
constexpr size_t kUnit = size_t{256} << 10;
constexpr unsigned kMostReady = 8;
constexpr size_t kMostReadyBytes = size_t{1} << 20;

constinit std::atomic<Run*> g_ready[kMostReady];
constinit std::atomic<int64_t> g_retirements{0};  // less those that time has made good
constinit std::atomic<uint64_t> g_counted_ns{0};

// Whether a block of so many bytes may become a guard now.
bool may_retire(size_t bytes) {
  const uint64_t now = os::now_ns();
  uint64_t counted = g_counted_ns.load(std::memory_order_relaxed);
  if (now - counted >= kNsForOne && g_counted_ns.compare_exchange_strong(counted, now)) {
    const auto passed = static_cast<int64_t>(smaller<uint64_t>((now - counted) / kNsForOne, kMostAtOnce));
    g_retirements.fetch_sub(smaller(g_retirements.load(std::memory_order_relaxed), passed), std::memory_order_relaxed);
  }
  const auto count = static_cast<int64_t>(bytes / kUnit + 1);
  if (g_retirements.fetch_add(count, std::memory_order_relaxed) < kMostAtOnce) return true;
  g_retirements.fetch_sub(count, std::memory_order_relaxed);
  return false;
}

void make_guard(Run* guard, Run* of) {
  if (guard == nullptr) return;
  guard->older = of;
  release_store(guard->kind, RunKind::kGuard);
  guard->guarded = os::guard(pointer_to(guard->base), guard->bytes());
}

Run* guard_at(Address a, const Run* of) {
  Run* guard = g_page_map.find(pointer_to(a));
  return guard != nullptr && guard->kind == RunKind::kGuard && guard->older == of ? guard : nullptr;
}

// The guards of a block, or of its pages.
struct Beside {
  Run* before;
  Run* after;
  explicit Beside(const Run* run) : before(guard_at(run->base - kPageBytes, run)), after(guard_at(run->end(), run)) {}
};

// What the OS has made a guard reads as zeroes afterwards. as_dirty: it shall join dirty neighbours.
void give_back(Run* run, bool as_dirty) {
  if (run == nullptr) return;
  const bool was_guarded = run->guarded;
  if (!guard_pages::lift(run)) return;
  run->fresh = was_guarded;
  release_store(run->kind, RunKind::kLarge);
  run->home->free(run, as_dirty || !run->fresh);
}

void give_back_with_guards(Run* run, bool as_dirty) {
  const Beside beside(run);
  give_back(beside.before, as_dirty);
  give_back(beside.after, as_dirty);
  give_back(run, as_dirty);
}

void end_retirement(Run* run) {
  if (run == nullptr) return;
  g_bytes.fetch_sub(run->bytes(), std::memory_order_relaxed);
  give_back_with_guards(run, !run->guarded);
}

// A block that was ready, or would have been: its memory stays. The next block takes the guards' pages, too.
void give_back_ready(Run* run) {
  if (run != nullptr) give_back_with_guards(run, true);
}

void make_ready(Run* run) {
  run->older = run;
  release_store(run->kind, RunKind::kGuard);
  const unsigned at = g_next.fetch_add(1, std::memory_order_relaxed);
  give_back_ready(g_ready[at % kMostReady].exchange(run, std::memory_order_acq_rel));
}

// With guards on both sides. Null: none has so many pages.
Run* take_ready(size_t pages, bool is_for_pointers) {
  for (std::atomic<Run*>& place : g_ready) {
    Run* run = place.load(std::memory_order_relaxed);
    if (run == nullptr || racy_load(run->pages) != pages || arena_of(run)->is_of_pointers != is_for_pointers) continue;
    run = place.exchange(nullptr, std::memory_order_acq_rel);
    if (run == nullptr) continue;
    if (run->pages == pages && Beside(run).before != nullptr && arena_of(run)->is_of_pointers == is_for_pointers) {
      run->fresh = false;
      run->older = nullptr;
      release_store(run->kind, RunKind::kLarge);
      return run;
    }
    give_back_ready(run);  // another thread has changed the place meanwhile
  }
  return nullptr;
}

bool may_guard(const Run* run) { return run->kind == RunKind::kLarge && run->home->source() == nullptr; }

Run* find_run(size_t bytes, size_t alignment, Arena* home) {
  return home == nullptr ? large::find_run(bytes, alignment) : large::find_run_in(*home, bytes, alignment);
}

// One of the two next runs, so that the order of blocks cannot be foreseen.
Run* find_by_chance(size_t bytes, size_t alignment, Arena* home) {
  Run* run = find_run(bytes, alignment, home);
  if (run == nullptr || !may_guard(run) || (new_seed() >> 32) % 2 == 0) return run;
  Run* next = find_run(bytes, alignment, home);
  if (next == nullptr || !may_guard(next)) std::swap(run, next);
  if (run != nullptr) run->kind == RunKind::kHuge ? huge::free(run) : run->home->free(run, !run->fresh);
  return next;
}

}  // namespace

ACRE_COLD Run* find_guarded_run(size_t n, size_t alignment, Arena* home) {
  if (n > large::kHugeFrom / 2 || alignment > kHugePageBytes || os::page_bytes() != kPageBytes) return nullptr;
  const size_t lead = alignment <= kPageBytes ? 1 : 0;
  const size_t pages = pages_for(larger<size_t>(n, 1));
  if (lead != 0) {
    if (Run* ready = take_ready(pages, home != nullptr)) return ready;
  }
  Run* before = nullptr;
  Run* run = find_by_chance((lead + pages + 1) * kPageBytes, alignment, home);
  if (run == nullptr || !may_guard(run)) return run;
  if (lead != 0) {
    before = run;
    run = before->home->cut_in_use(before, lead);
    if (run == nullptr) return before;
  }
  Run* after = run->home->cut_in_use(run, pages);
  make_guard(before, run);
  make_guard(after, run);
  return run;
}

ACRE_COLD void free_guarded_run(Run* run) {
  if (!may_guard(run) || arena_of(run)->is_manual || os::page_bytes() != kPageBytes) return run->home->free(run, true);
  if (!may_retire(run->bytes())) return run->bytes() <= kMostReadyBytes ? make_ready(run) : give_back_ready(run);
  run->older = run;
  release_store(run->kind, RunKind::kGuard);
  run->guarded = os::guard(pointer_to(run->base), run->bytes());
  g_bytes.fetch_add(run->bytes(), std::memory_order_relaxed);
  unsigned at = g_next.fetch_add(1, std::memory_order_relaxed);
  end_retirement(g_retired[at % kMostRetired].exchange(run, std::memory_order_acq_rel));
  for (unsigned i = 1; i < kMostRetired && g_bytes.load(std::memory_order_relaxed) > kMostBytes; ++i) {
    end_retirement(g_retired[(at + i) % kMostRetired].exchange(nullptr, std::memory_order_acq_rel));
  }
}

ACRE_COLD const Run* retired_at(Address a) {
  for (const std::atomic<Run*>& place : g_retired) {
    const Run* run = place.load(std::memory_order_acquire);
    if (run != nullptr && a - racy_load(run->base) < racy_load(run->pages) << kPageShift) return run;
  }
  return nullptr;
}

ACRE_COLD void give_back_retired() {
  for (std::atomic<Run*>& place : g_retired) end_retirement(place.exchange(nullptr, std::memory_order_acq_rel));
  for (std::atomic<Run*>& place : g_ready) give_back_ready(place.exchange(nullptr, std::memory_order_acq_rel));
}

}  // namespace acre::hardened
