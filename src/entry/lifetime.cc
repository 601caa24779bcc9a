// Start-up, and the program's end with the summary that may be printed.
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

// Many programs close stderr in an exit handler, before libraries end. So the summary goes to a duplicate of stderr
// that is made at start-up. Its number is far from those that programs use, and it must still be the same file.
constexpr int kLeastDescriptor = 100;
constinit int g_summary_fd = -1;
constinit struct stat g_summary_file = {};

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// As early as the loader permits. Before a fork, the handlers that registered first run last, so acre takes its locks
// after the other handlers. Most programs have allocated before this function runs.
__attribute__((constructor(101))) void on_load() {
  start_process();
  large::g_reporter = report::large_block;
  if (report::is_asked_for()) capture::prepare();
  if (options().leaks != LeakMode::kNone) leaks::start();
  if (options().prof) report::start_profiler();
  options().control ? live::start() : live::start_on_request();
  if (options().leaks == LeakMode::kMinimal) leaks::learn_constructors_stack();
  if (!options().stats_print || fstat(STDERR_FILENO, &g_summary_file) != 0) return;
  g_summary_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kLeastDescriptor);
}

// stats_print may have been turned on after start-up. Then the summary goes to stderr as it is now.
__attribute__((destructor(101))) void on_unload() {
  if (live::is_started()) live::end();
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

// It is in this file so that a program linked with the archive gets the file together with malloc.
void api::malloc_stats() { print_statistics(StatsFormat::kSummary, STDERR_FILENO); }

}  // namespace acre
