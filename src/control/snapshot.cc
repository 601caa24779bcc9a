#include "control/snapshot.h"

#include <new>

#include "cache/registry.h"
#include "control/ctl.h"
#include "manual/manual_arena.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "reclaim/background.h"

namespace acre::ctl {

namespace {

constinit Report* g_report ACRE_GUARDED_BY(registry::control_lock) = nullptr;
constinit bool g_background_thread ACRE_GUARDED_BY(registry::control_lock) = false;
constinit uint64_t g_epoch ACRE_GUARDED_BY(registry::control_lock) = 0;
constinit Debt g_debt ACRE_GUARDED_BY(registry::control_lock);

void take(const KernelFigures& kernel) ACRE_REQUIRES(registry::control_lock) {
  gather(*g_report, &kernel);
  g_background_thread = background::state() == background::State::kRunning;
  ++g_epoch;
}

constexpr unsigned kLacksNothing = ~0u, kLacksReport = kLacksNothing - 1;

// Returns one of these values, or the number of an arena that has no place in the report.
unsigned lack() {
  Lock lock(registry::control_lock);
  if (g_report == nullptr) return kLacksReport;
  for (unsigned i = 0; i < arenas::numbers(); ++i) {
    if (g_report->each[i] == nullptr && arenas::is_one(i)) return i;
  }
  return kLacksNothing;
}

// Makes memory for the figures; false when memory is refused. No lock is held over the system call, so the memory that one of
// two threads makes at the same time is lost.
bool have_room() {
  for (unsigned what; (what = lack()) != kLacksNothing;) {
    const bool whole = what == kLacksReport;
    void* room = metadata::allocate(whole ? sizeof(Report) : sizeof(ArenaReport));
    if (room == nullptr) return false;
    Lock lock(registry::control_lock);
    if (whole) {
      if (g_report == nullptr) g_report = new (room) Report;
    } else if (g_report->each[what] == nullptr) {
      g_report->each[what] = new (room) ArenaReport;
    }
  }
  return true;
}

// Returns null if the figures include none of this arena.
const uint64_t* figures_at(const Figure& figure) ACRE_REQUIRES(registry::control_lock) {
  if (figure.scope == StatScope::kProcess) return figures_of(g_report->process);
  if (figure.scope == StatScope::kLock && figure.lock < kProcessLocks) return figures_of(g_report->locks[figure.lock]);
  const ArenaReport* found = figure.arena == kAllArenas ? &g_report->all : g_report->of(figure.arena);
  if (found == nullptr) return nullptr;
  const ArenaReport& report = *found;
  switch (figure.scope) {
    case StatScope::kClass: return figures_of(report.classes[figure.at]);
    case StatScope::kLength: return figures_of(report.lengths[figure.at]);
    case StatScope::kLock:
      return figures_of(figure.lock == kPagesLock ? report.pages_lock : report.bin_locks[figure.at]);
    default: return figures_of(report.arena);
  }
}

}  // namespace

bool refresh() {
  if (!have_room()) return false;
  const uint64_t begin = os::thread_ns();  // a system call, so it is made without the lock
  const KernelFigures kernel = ask_kernel();
  {
    Lock lock(registry::control_lock);
    take(kernel);
  }
  const uint64_t cost_ns = os::thread_ns() - begin, now_ms = os::now_ms();
  Lock lock(registry::control_lock);
  g_debt = {g_debt.at(now_ms) + cost_ns, now_ms};
  return true;
}

static bool is_due(uint64_t now_ms) {
  Lock lock(registry::control_lock);
  return g_debt.at(now_ms) < kMostDebtNs;
}

bool refresh_if_due() { return !is_due(os::now_ms()) || refresh(); }

bool refresh_once() { return epoch() != 0 || refresh(); }

uint64_t epoch() {
  Lock lock(registry::control_lock);
  return g_epoch;
}

uint64_t read_figure(const Figure& figure) {
  Lock lock(registry::control_lock);
  const uint64_t* figures = figures_at(figure);
  return figures == nullptr ? 0 : figures[figure.row];
}

ClassStatistics class_figures(size_t arena, SizeClass c) {
  Lock lock(registry::control_lock);
  const uint64_t* figures = figures_at({StatScope::kClass, 0, 0, arena, c});
  return figures == nullptr ? ClassStatistics() : *reinterpret_cast<const ClassStatistics*>(figures);
}

bool background_thread_runs() {
  Lock lock(registry::control_lock);
  return g_background_thread;
}

}  // namespace acre::ctl
