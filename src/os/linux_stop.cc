#include "os/stop.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <initializer_list>
#include <new>

#include "base/syscall.h"
#include "base/text.h"
#include "base/thread_token.h"
#include "os/linux_traced.h"
#include "os/os.h"

namespace acre::os {

namespace {

constexpr unsigned kMostThreads = 16384;
constexpr size_t kHelperStack = size_t{256} << 10;
constexpr int kFaulted = 3;
constexpr long kKernelSignalBytes = 8;

// Mapped for one call of with_threads_stopped(). Untouched parts cost nothing.
struct Helper {
  void (*work)(const Threads&, void*);
  void* argument;
  long process;
  long caller;
  Threads threads;
  unsigned traced_count = 0;
  bool work_was_done = false;
  unsigned room = 0;  // threads that the arrays behind this struct have space for
  ThreadState* states = nullptr;
  Traced* traced = nullptr;
  alignas(64) char stack[kHelperStack];
};

// Twice the threads that there are, since the process may start more meanwhile.
unsigned room_for_threads() {
  constexpr unsigned kMore = 64;
  struct stat tasks;
  if (stat("/proc/self/task", &tasks) != 0) return kMostThreads;
  return static_cast<unsigned>(smaller<size_t>(kMostThreads, 2 * tasks.st_nlink + kMore));
}

// --- Stopping --------------------------------------------------------------------------------------------------

bool is_known(const Helper& helper, int id) {
  if (id == helper.caller) return true;
  for (unsigned i = 0; i < helper.traced_count; ++i) {
    if (helper.traced[i].id == id) return true;
  }
  return false;
}

// Whether the thread has ended. The first one then stays in the list, untraceable, until the others have ended, too.
bool has_ended(const Helper& helper, int id) {
  Line<64> path;
  path.add("/proc/").decimal(static_cast<uint64_t>(helper.process)).add("/task/").decimal(static_cast<uint64_t>(id));
  path.add("/stat");
  char text[128] = {};  // ID (NAME) STATE …; a name has at most 15 characters
  const long file = open_file(path.c_str());
  if (file < 0) return true;
  read_some(static_cast<int>(file), text, sizeof text - 1);
  close_file(static_cast<int>(file));
  const char* name_end = strrchr(text, ')');
  return name_end != nullptr && (name_end[2] == 'Z' || name_end[2] == 'X');
}

void count_running(Helper& helper, int error) {
  ++helper.threads.running;
  helper.threads.refusal = static_cast<unsigned>(error);
}

// Returns true if the thread is new and was looked at.
bool meet_thread(Helper& helper, int id) {
  if (is_known(helper, id)) return false;
  if (helper.traced_count == helper.room - 1) {
    ++helper.threads.running;
    return false;
  }
  Traced& traced = helper.traced[helper.traced_count++];
  traced = {id};
  const int error = stop_thread(&traced);
  if (error != 0 && error != ESRCH && !has_ended(helper, id)) count_running(helper, error);
  return true;
}

// The record that getdents64 writes.
struct Entry {
  uint64_t number;
  int64_t offset;
  unsigned short bytes;
  unsigned char type;
  char name[];
};

int parse_id(const char* name) {
  int id = 0;
  for (; *name >= '0' && *name <= '9'; ++name) id = id * 10 + (*name - '0');
  return *name == '\0' ? id : 0;
}

// Goes once through the list of threads. Returns true if one was new.
bool meet_threads(Helper& helper) {
  Line<64> path;
  path.add("/proc/").decimal(static_cast<uint64_t>(helper.process)).add("/task");
  const long folder = open_file(path.c_str());
  if (folder < 0) {
    helper.threads.refusal = static_cast<unsigned>(-folder);
    ++helper.threads.running;  // at least one
    return false;
  }
  bool found_new = false;
  alignas(Entry) char buffer[4096];
  for (long got; (got = raw_syscall(SYS_getdents64, folder, as_long(buffer), sizeof buffer)) > 0;) {
    for (long at = 0; at < got;) {
      const auto* entry = reinterpret_cast<const Entry*>(buffer + at);
      at += entry->bytes;
      const int id = parse_id(entry->name);
      if (id != 0 && meet_thread(helper, id)) found_new = true;
    }
  }
  close_file(static_cast<int>(folder));
  return found_new;
}

void read_states(Helper& helper) {
  for (unsigned i = 0; i < helper.traced_count; ++i) {
    Traced& traced = helper.traced[i];
    if (traced.stopped) leave_own_code(&traced);
    if (traced.stopped) read_state(traced, &helper.states[helper.threads.count++]);
    if (traced.stepping) count_running(helper, ETIMEDOUT);
  }
}

// A thread that is stepping may wait for one of the others.
void release_threads(Helper& helper) {
  for (const bool stepping : {false, true}) {
    for (unsigned i = 0; i < helper.traced_count; ++i) {
      if (helper.traced[i].stepping == stepping) release_thread(&helper.traced[i]);
    }
  }
}

// --- The helper ------------------------------------------------------------------------------------------------

void on_fault(int) { raw_syscall(SYS_exit_group, kFaulted); }

// A fault in the helper ends only the helper. It has a copy of the handlers, so the process keeps its own.
void catch_faults() {
  struct sigaction action = {};
  action.sa_handler = on_fault;
  sigaction(SIGSEGV, &action, nullptr);
  sigaction(SIGBUS, &action, nullptr);
  const uint64_t faults = uint64_t{1} << (SIGSEGV - 1) | uint64_t{1} << (SIGBUS - 1);
  raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, as_long(&faults), 0, kKernelSignalBytes);
}

// A thread that was not stopped yet may have started new ones: look again until there is no new thread.
int help(void* argument) {
  Helper& helper = *static_cast<Helper*>(argument);
  catch_faults();
  wake_waits();
  while (meet_threads(helper)) {
  }
  read_states(helper);
  helper.work(helper.threads, helper.argument);
  helper.work_was_done = true;
  release_threads(helper);
  raw_syscall(SYS_exit_group, 0);
  return 0;
}

// The Yama module lets a process be traced only by its ancestors or by the process that it names.
void permit_tracing_by(long process) {
  char scope = '0';
  read_file("/proc/sys/kernel/yama/ptrace_scope", &scope, 1);
  if (scope == '1') raw_syscall(SYS_prctl, PR_SET_PTRACER, process, 0, 0, 0);
}

constexpr int kFlags = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_UNTRACED;

std::atomic<uint32_t> g_permitted{0};

Address stack_pointer() {
  Address value;
#if defined(__x86_64__)
  asm volatile("mov %%rsp, %0" : "=r"(value));
#elif defined(__aarch64__)
  asm volatile("mov %0, sp" : "=r"(value));
#else
  asm volatile("mv %0, sp" : "=r"(value));
#endif
  return value;
}

int start_helping(void* argument) {
  while (g_permitted.load() == 0) wait_while(g_permitted, 0, 1000);
  return help(argument);
}

// The caller is not stopped: it waits here, with its callers' registers saved in this frame.
ACRE_NOINLINE Stopped run_helper(Helper& helper) {
  __builtin_unwind_init();
  ThreadState& own = helper.states[0];
  own.id = static_cast<int>(helper.caller);
  own.stack_pointer = stack_pointer();
  own.control_block = this_thread();
  helper.threads.thread = helper.states;
  helper.threads.count = 1;
  helper.threads.helper_start = address_of(&helper);
  helper.threads.helper_end = address_of(helper.traced + helper.room);
  g_permitted.store(0);
  const int child = clone(start_helping, helper.stack + kHelperStack, kFlags, &helper);
  if (child < 0) return Stopped::kRefused;
  permit_tracing_by(child);
  g_permitted.store(1);
  wake(g_permitted);
  int status = 0;
  while (raw_syscall(SYS_wait4, child, as_long(&status), __WALL, 0) == -EINTR) {
  }
  return helper.work_was_done ? Stopped::kDone : Stopped::kDied;
}

}  // namespace

Stopped with_threads_stopped(void (*work)(const Threads& threads, void* argument), void* argument) {
  const int saved_errno = errno;
  const unsigned room = room_for_threads();
  const size_t bytes = align_up(sizeof(Helper) + room * (sizeof(ThreadState) + sizeof(Traced)), page_bytes());
  void* memory = map(bytes);
  if (memory == nullptr) return Stopped::kRefused;
  auto& helper = *new (memory) Helper;
  helper.room = room;
  helper.states = reinterpret_cast<ThreadState*>(&helper + 1);
  helper.traced = reinterpret_cast<Traced*>(helper.states + room);
  helper.work = work;
  helper.argument = argument;
  helper.process = getpid();
  helper.caller = raw_syscall(SYS_gettid);
  const uint64_t all = ~uint64_t{0};
  uint64_t before = 0;
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&all), as_long(&before), kKernelSignalBytes);
  const Stopped result = run_helper(helper);
  raw_syscall(SYS_rt_sigprocmask, SIG_SETMASK, as_long(&before), 0, kKernelSignalBytes);
  unmap(memory, bytes);
  errno = saved_errno;
  return result;
}

}  // namespace acre::os
