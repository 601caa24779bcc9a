// Reports, and the memory for them.
#include <new>

#include "cache/registry.h"
#include "control/statistics.h"
#include "os/os.h"
#include "pages/metadata.h"

namespace acre {

// All callers share one report, since a calling thread may have a small stack.
static ProcessStatistics gather_in_scratch(const KernelFigures* kernel) {
  static constinit std::atomic<Report*> scratch{nullptr};  // used under the lock
  if (scratch.load(std::memory_order_acquire) == nullptr) {
    void* memory = metadata::allocate(sizeof(Report));
    if (memory == nullptr) return {};
    Report* none = nullptr;
    scratch.compare_exchange_strong(none, new (memory) Report);  // else another thread was faster
  }
  Lock lock(registry::control_lock);
  Report& report = *scratch.load(std::memory_order_acquire);
  gather(report, kernel);
  return report.process;
}

ProcessStatistics gather_process() {
  const KernelFigures kernel = ask_kernel();
  return gather_in_scratch(&kernel);
}

ProcessStatistics gather_blocks() { return gather_in_scratch(nullptr); }

// Has a place for each arena that there may be. Pages that are not touched cost nothing.
constexpr size_t kBytesOfReport = sizeof(Report) + arenas::kMostNumbers * sizeof(ArenaReport);
static size_t bytes_of_report() { return align_up(kBytesOfReport, os::page_bytes()); }

Report* make_report() {
  void* memory = os::map(bytes_of_report());
  if (memory == nullptr) return nullptr;
  Report* report = new (memory) Report;
  auto* place = reinterpret_cast<ArenaReport*>(report + 1);
  for (unsigned i = 0; i < arenas::numbers(); ++i, ++place) {
    if (arenas::is_one(i)) report->each[i] = place;
  }
  const KernelFigures kernel = ask_kernel();
  gather(*report, &kernel);
  return report;
}

void drop_report(Report* report) { os::unmap(report, bytes_of_report()); }

}  // namespace acre
