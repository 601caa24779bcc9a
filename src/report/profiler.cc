#include "report/profiler.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fatal.h"
#include "observe/sampler.h"
#include "os/os.h"
#include "reclaim/internal_thread.h"
#include "report/profile_file.h"
#include "sample/profile.h"
#include "tables/options.h"

namespace acre::report {

namespace {

bool write_both(Naming naming) {
  int error = write_profile(Kind::kLive, naming);
  if (error == 0) error = write_profile(Kind::kPeak, naming);
  if (error != 0) warn("the heap profile could not be written", error);
  return error == 0;
}

// --- On a signal, or amid an allocation: who asks there may do next to nothing, so a thread writes ---------------

constinit std::atomic<uint32_t> g_asked{0};
constinit std::atomic<bool> g_ends{false};
constinit std::atomic<int> g_thread_of{0};  // the process that has the thread: a child of fork has it not

void ask() {
  g_asked.fetch_add(1);
  os::wake(g_asked);
}
void on_signal(int) { ask(); }

void* write_when_asked(void*) {
  os::name_this_thread("acre-profile");
  for (uint32_t done = 0;; ) {
    os::wait_while(g_asked, done, UINT64_MAX);
    const uint32_t asked = g_asked.load();
    if (g_ends.load()) break;
    if (asked == done) continue;
    done = asked;
    write_both(Naming::kNumbered);
  }
  g_thread_of.store(0);
  g_ends.store(false);
  return nullptr;
}

void end_waiting() {
  if (g_thread_of.load() != getpid()) return;
  g_ends.store(true);
  ask();
}

bool has_thread() {
  const int process = getpid();
  if (g_thread_of.exchange(process) == process) return true;
  internal_thread::end_with_last_thread(internal_thread::Waiting::kProfiler, end_waiting);
  if (os::start_thread(write_when_asked)) return true;
  g_thread_of.store(0);
  return false;
}

void listen_to(int number) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  if (sigaction(number, &action, nullptr) != 0) return warn("prof_signal cannot be caught", errno);
}

// Once memory for the tables is there.
void start_triggers() {
  profile::on_due(ask);
  profile::set_interval(static_cast<uint64_t>(options().prof_interval));
  profile::set_at_new_maximum(options().prof_gdump);
  if (options().prof_signal != 0) listen_to(static_cast<int>(options().prof_signal));
  const bool any = options().prof_signal != 0 || options().prof_interval != 0 || options().prof_gdump;
  if (any && !has_thread()) warn("no thread to write heap profiles", EAGAIN);
}

}  // namespace

void start_profiler() {
  sampler::set_new_threads(options().prof_thread_active_init);
  if (!profile::prepare(static_cast<uint64_t>(options().prof_sample))) return warn("no heap profile", ENOMEM);
  start_triggers();
  profile::set_active(options().prof_active);
}

bool write_at_new_maximum(bool on) {
  if (on && !has_thread()) return false;
  profile::on_due(ask);
  profile::set_at_new_maximum(on);
  return true;
}

bool end_profiler() {
  if (!profile::is_prepared()) return false;
  profile::set_active(false);
  return write_both(Naming::kFinal);
}

}  // namespace acre::report
