// Start-up, and the program's end with the summary that may be printed.
#include <unistd.h>

#include "base/atomics.h"
#include "cache/upcalls.h"
#include "cache/large.h"
#include "cache/registry.h"
#include "control/print.h"
#include "entry/api.h"
#include "entry/last_dump.h"
#include "leaks/before_main.h"
#include "leaks/checker.h"
#include "guard/guards.h"
#include "live/socket.h"
#include "observe/trace.h"
#include "record/record.h"
#include "report/large_report.h"
#include "report/profiler.h"
#include "sample/capture.h"
#include "tables/options.h"

namespace acre {

namespace {

// As early as the loader permits. Before a fork, the handlers that registered first run last, so acre takes its locks
// after the other handlers. Most programs have allocated before this function runs.
__attribute__((constructor(101))) void on_load() {
  start_process();
  large::g_reporter = report::large_block;
  if (report::is_asked_for() || (options().record != 0 && record::has_stacks())) capture::prepare();
  if (options().leaks != LeakMode::kNone) leaks::start();
  if (options().stats_print || options().final_signals || options().postmortem != 0) last_dump::start();
  if (options().prof) report::start_profiler();
  if (options().guard != Guard::kNone || options().abort_backtrace || options().hardened) guard::start();
  options().control ? live::start() : live::start_on_request();
  if (options().leaks == LeakMode::kMinimal) leaks::learn_constructors_stack();
}

__attribute__((destructor(101))) void on_unload() {
  if (live::is_started()) live::end();
  if (options().leaks != LeakMode::kNone) leaks::end();
  const bool is_asked = relaxed_load(options().prof_final) || relaxed_load(options().stats_print);
  if (is_asked || options().postmortem != 0) last_dump::write();
  if (options().utrace != 0) trace::end();
}

}  // namespace

// It is in this file so that a program linked with the archive gets the file together with malloc.
void api::malloc_stats() { print_statistics(StatsFormat::kSummary, STDERR_FILENO); }

}  // namespace acre
