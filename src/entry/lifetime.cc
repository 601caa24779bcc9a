// Start-up, the program's end, and the summary that may be printed then.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cache/upcalls.h"
#include "base/atomics.h"
#include "cache/large.h"
#include "cache/registry.h"
#include "control/print.h"
#include "entry/api.h"
#include "leaks/before_main.h"
#include "leaks/checker.h"
#include "live/socket.h"
#include "observe/trace.h"
#include "report/large_report.h"
#include "report/profiler.h"
#include "sample/capture.h"
#include "tables/options.h"

namespace acre {

namespace {

// Many programs close stderr in an exit handler of theirs, before the libraries' turn comes. So the summary
// goes to a duplicate, made at start-up, far from the numbers that programs count on; it is used only if it
// is still the same file.
constexpr int kLeastDescriptor = 100;
constinit int g_summary_fd = -1;
constinit struct stat g_summary_file = {};

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// As early as the loader lets us: fork handlers run in reverse order of registration before the fork, so that
// the first to register is the last to lock. Most programs have allocated before this.
__attribute__((constructor(101))) void on_load() {
  start_process();
  large::g_reporter = report::large_block;
  if (report::is_asked_for()) capture::prepare();
  if (options().leaks != LeakMode::kNone) leaks::start();
  if (options().prof) report::start_profiler();
  if (options().control) live::start();
  if (options().leaks == LeakMode::kMinimal) leaks::learn_constructors_stack();
  if (!options().stats_print || fstat(STDERR_FILENO, &g_summary_file) != 0) return;
  g_summary_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kLeastDescriptor);
}

// The option may have been changed since: to what stderr is now, if it was off at start-up.
__attribute__((destructor(101))) void on_unload() {
  if (options().control) live::end();
  if (options().leaks != LeakMode::kNone) leaks::end();
  if (relaxed_load(options().prof_final)) report::end_profiler();
  if (options().utrace != 0) trace::end();
  if (!relaxed_load(options().stats_print)) return;
  struct stat file;
  const int fd = g_summary_fd < 0 ? STDERR_FILENO : g_summary_fd;
  if (fstat(fd, &file) != 0 || (g_summary_fd >= 0 && !same_file(file, g_summary_file))) return;
  print_statistics(options().stats_format, fd);
}

}  // namespace

// Here, so that a program that is linked with the archive gets the rest of this file along with malloc's.
void api::malloc_stats() { print_statistics(StatsFormat::kSummary, STDERR_FILENO); }

}  // namespace acre
