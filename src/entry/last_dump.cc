#include "entry/last_dump.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>

#include "base/atomics.h"
#include "base/fatal.h"
#include "control/print.h"
#include "live/snapshot.h"
#include "os/os.h"
#include "reclaim/internal_thread.h"
#include "report/profiler.h"
#include "sample/postmortem.h"
#include "sample/profile.h"
#include "tables/options.h"

namespace acre::last_dump {

namespace {

// Many programs close stderr in an exit handler, before libraries end. So the summary goes to a duplicate of stderr
// that is made at start-up. Its number is far from those that programs use, and it must still be the same file.
constexpr int kLeastDescriptor = 100;
constinit int g_summary_fd = -1;
constinit struct stat g_summary_file = {};
constinit std::atomic<bool> g_done{false};

bool same_file(const struct stat& a, const struct stat& b) { return a.st_dev == b.st_dev && a.st_ino == b.st_ino; }

// stats_print may have been turned on after start-up. Then the summary goes to stderr as it is now.
bool print_summary() {
  struct stat file;
  const int fd = g_summary_fd < 0 ? STDERR_FILENO : g_summary_fd;
  if (fstat(fd, &file) != 0 || (g_summary_fd >= 0 && !same_file(file, g_summary_file))) return false;
  print_statistics(options().stats_format, fd);
  return true;
}

// --- Signals whose default action would end the program -------------------------------------------------------------
//
// A thread writes, since the handler may have interrupted code that holds a lock. The handler keeps the program where it
// is meanwhile, but not for ever: the thread may wait for that lock. At the end the signal gets its default action.

// Not SIGINT: Python and others that find a handler there do not set their own, and Ctrl-C would end them at once.
constexpr int kSignals[] = {SIGHUP, SIGTERM};
constexpr uint64_t kMostWaitMs = 1000;
constexpr uint32_t kNoSignal = UINT32_MAX;  // none will be waited for
constinit std::atomic<uint32_t> g_signal{0};
constinit int g_process = 0;

void end_by(int number) {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigaction(number, &action, nullptr);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  kill(getpid(), number);
}

// In the child of a fork there is no thread, and after vfork the memory is the parent's.
void on_signal(int number) {
  if (getpid() != g_process) return end_by(number);
  uint32_t none = 0;
  if (!g_signal.compare_exchange_strong(none, static_cast<uint32_t>(number))) {
    if (none == kNoSignal) end_by(number);
    return;
  }
  os::wake(g_signal);
  os::wait_while(g_signal, static_cast<uint32_t>(number), kMostWaitMs);
}

void* write_on_signal(void*) {
  os::name_this_thread("acre-last");
  while (g_signal.load() == 0) os::wait_while(g_signal, 0, UINT64_MAX);
  if (g_signal.load() == kNoSignal) return nullptr;
  write();
  end_by(static_cast<int>(g_signal.load()));
  return nullptr;
}

// The last thread with a heap has ended: by a signal the process ends as without acre from here on.
void end_waiting() {
  uint32_t none = 0;
  if (getpid() != g_process || !g_signal.compare_exchange_strong(none, kNoSignal)) return;
  os::wake(g_signal);
}

void catch_signals() {
  g_process = getpid();
  internal_thread::end_with_last_thread(internal_thread::Waiting::kLastDump, end_waiting);
  if (!os::start_thread(write_on_signal)) return;
  for (const int number : kSignals) {
    struct sigaction before = {}, action = {};
    if (sigaction(number, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    action.sa_handler = on_signal;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
  }
}

void keep_in(const char* folder) {
  const int error = postmortem::start(folder);
  error == 0 ? snapshot::write() : warn("no file in the folder of the option postmortem", error);
}

}  // namespace

void start() {
  const char* folder = path_of(options().postmortem);
  if (folder[0] != '\0') keep_in(folder);
  if (options().stats_print && fstat(STDERR_FILENO, &g_summary_file) == 0) {
    g_summary_fd = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, kLeastDescriptor);
  }
  if (options().final_signals) catch_signals();
}

void write() {
  if (g_done.exchange(true)) return;
  uint32_t written = 0;
  if (postmortem::is_on()) snapshot::write();
  if (relaxed_load(options().prof_final) && report::end_profiler()) written |= postmortem::kProfileWritten;
  if (relaxed_load(options().stats_print) && print_summary()) written |= postmortem::kStatisticsPrinted;
  if (postmortem::is_on()) postmortem::end(written);
}

}  // namespace acre::last_dump
