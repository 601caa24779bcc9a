#include "leaks/checker.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>

#include "base/fatal.h"
#include "base/text.h"
#include "leaks/before_main.h"
#include "observe/fill.h"
#include "os/mapped.h"
#include "reclaim/internal_thread.h"
#include "sample/at_work.h"

extern "C" {
int __cxa_atexit(void (*function)(void*), void* argument, void* library);
__attribute__((weak)) int __cxa_thread_atexit_impl(void (*function)(void*), void* argument, void* library);
}

namespace acre::leaks {

namespace {

constinit long g_process = 0;                  // the process in which start() was called
constinit std::atomic<bool> g_done{false};     // the check at the end was done or cancelled

void say_failed(int error) { warn("the check for leaks failed", error); }

// Data that is too large for some threads' stacks.
struct Space {
  Finding finding;
  char path[kMostBytesOfPath];
};

void say_found(const Space& space, const char* name) {
  const Finding& finding = space.finding;
  Line<kMostBytesOfPath + 300> line;
  line.add("acre: ");
  if (name != nullptr) line.add(name).add(": ");
  line.decimal(finding.leaked_blocks).add(finding.leaked_blocks == 1 ? " block" : " blocks").add(" of together ");
  line.decimal(finding.leaked_bytes).add(" bytes leaked; 'acre leaks ").add(space.path);
  line.add("' says where they are from\n");
  write_all(2, line.c_str(), line.size());
}

// Minimal mode recognizes blocks from before main by their stacks.
Request request_for_all() {
  const LeakMode mode = options().leaks;
  if (mode == LeakMode::kMinimal && getpid() == gettid()) learn_mains_stack();
  Request request;
  if (mode != LeakMode::kNone && mode != LeakMode::kLocal) request.mode = mode;
  return request;
}

// Without an exit code, another program reads all reports and prints what there is to say.
bool is_judged_elsewhere() { return options().leaks_exit_code == 0; }

// Checks, and writes a report if there are leaks or if `always`. Returns 0 or an error number.
int check_and_report(Space* space, const Request& request, Moment moment, const char* name, const char* path,
                     bool always) {
  if (space == nullptr) return EAGAIN;
  const AtWork at_work;  // what is allocated from here on is not sampled
  Finding& finding = space->finding;
  int error = check(request, &finding);
  if (error != 0 || (finding.leaked_blocks == 0 && !always)) return error;
  error = write_report(path, finding, moment, name, space->path);
  if (error != 0 || finding.leaked_blocks == 0 || moment == Moment::kLive || is_judged_elsewhere()) return error;
  say_found(*space, name);
  return 0;
}

// --- The program's end -----------------------------------------------------------------------------------------

// Ends the process with another exit code. The handlers that are left run inside this call.
void exit_with_code(void*) { exit(static_cast<int>(options().leaks_exit_code)); }

void check_at_end() {
  if (!is_whole_program_checked() || g_done.exchange(true)) return;
  Request request;
  request.mode = options().leaks;
  const os::Mapped<Space> space;
  const int error = check_and_report(space.get(), request, Moment::kExit, nullptr, nullptr, is_judged_elsewhere());
  if (error != 0) return say_failed(error);
  if (space->finding.leaked_blocks == 0 || is_judged_elsewhere()) return;
  __cxa_atexit(exit_with_code, nullptr, nullptr);
}

// At exit the C library destroys the first thread's variables before it calls any handler. This destructor was
// registered before all others, so it is the last one.
void before_handlers(void*) {
  if (options().leaks == LeakMode::kMinimal) learn_mains_stack();
  if (options().leaks == LeakMode::kMinimal || options().leaks == LeakMode::kNormal) check_at_end();
}

// --- On a signal: a handler may do next to nothing, so a thread checks -----------------------------------------------

constinit std::atomic<uint32_t> g_asked{0};
constinit std::atomic<bool> g_ends{false};

void on_signal(int) {
  g_asked.fetch_add(1);
  os::wake(g_asked);
}

void* wait_for_signals(void*) {
  os::name_this_thread("acre-leaks");
  for (uint32_t done = 0;;) {
    os::wait_while(g_asked, done, UINT64_MAX);
    const uint32_t asked = g_asked.load();
    if (g_ends.load()) return nullptr;
    if (asked == done) continue;
    done = asked;
    if (const int error = dump(nullptr)) say_failed(error);
  }
}

void end_waiting() {
  if (getpid() != g_process) return;
  g_ends.store(true);
  on_signal(0);
}

void listen_to(int number) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  internal_thread::end_with_last_thread(internal_thread::Waiting::kLeaks, end_waiting);
  const bool caught = sigaction(number, &action, nullptr) == 0;
  if (!caught || !os::start_thread(wait_for_signals)) say_failed(caught ? EAGAIN : errno);
}

}  // namespace

bool is_on() {
  if (options().leaks == LeakMode::kNone || g_process == 0) return false;
  const long process = getpid();
  const int64_t wanted = options().leaks_process;
  if (wanted == 0) return process == g_process;
  return wanted < 0 || process == wanted;
}

bool is_whole_program_checked() { return is_on() && options().leaks != LeakMode::kLocal; }
void cancel() { g_done.store(true); }

// Samples every block unless the settings say otherwise, since a block that is not sampled has no stack.
void start() {
  g_process = getpid();
  if (!is_on()) return;
  set_option(index_of(Option::prof), 1, option_source(index_of(Option::leaks)));
  if (option_source(index_of(Option::prof_sample)) == OptionSource::kDefault) {
    set_option(index_of(Option::prof_sample), 0, option_source(index_of(Option::leaks)));
  }
  fill::clear_sampled();
  if (options().leaks_signal != 0) listen_to(static_cast<int>(options().leaks_signal));
  if (&__cxa_thread_atexit_impl != nullptr) __cxa_thread_atexit_impl(before_handlers, nullptr, &g_done);
}

void end() { check_at_end(); }

int dump(const char* path) {
  const Request request = request_for_all();
  const os::Mapped<Space> space;
  return check_and_report(space.get(), request, Moment::kLive, nullptr, path, true);
}

int dump(report::Sink sink) {
  const Request request = request_for_all();
  const os::Mapped<Space> space;
  if (space.get() == nullptr) return EAGAIN;
  const AtWork at_work;  // as for a file
  if (const int error = check(request, &space->finding)) return error;
  return write_report(sink, space->finding, Moment::kLive);
}

int check_section(const char* name, uint32_t since, uint64_t* blocks, uint64_t* bytes) {
  Request request = since == 0 ? request_for_all() : Request();
  request.since = since;
  if (options().leaks == LeakMode::kDraconian) request.mode = LeakMode::kDraconian;
  const os::Mapped<Space> space;
  const int error = check_and_report(space.get(), request, Moment::kSection, name, nullptr, false);
  if (space.get() != nullptr) {
    *blocks = space->finding.leaked_blocks;
    *bytes = space->finding.leaked_bytes;
  }
  return error;
}

}  // namespace acre::leaks
