#include "live/socket.h"

#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/text.h"
#include "live/authority.h"
#include "live/clients.h"
#include "live/snapshot.h"
#include "os/socket.h"
#include "reclaim/pressure.h"
#include "tables/options.h"

namespace acre::live {

namespace {

constexpr uint64_t kLookMs = 10000;      // between two checks that the socket still has its name
constexpr uint64_t kRetryMs = 10000;     // after the system refused a thread
constexpr unsigned kMostFailures = 30;   // checks without a socket, after which the thread ends
constexpr uint64_t kRequestLookMs = 1000;      // between two looks for a request
constexpr uint64_t kIdleRequestLookMs = 5000;  // the same in a background thread that has nothing else to do

enum class State : uint32_t {
  kNone,
  kRunning,  // or it has given up, and waits to be joined
  kEnding,
  kRefused,  // the system gave no thread
};
constinit std::atomic<State> g_state{State::kNone};
constinit std::atomic<uint32_t> g_ends{0};  // 1: the thread must end
constinit std::atomic<uint64_t> g_retry_at_ms{0};
constinit unsigned long g_thread = 0;

// XDG_RUNTIME_DIR of the environment, or empty. /tmp is used if no socket can be made there.
constexpr size_t kMostFolder = 80;
constinit char g_runtime_folder[kMostFolder] = "";

// The thread writes it before it sets g_named.
constinit char g_path[os::kMostSocketPath] = "";
constinit std::atomic<int> g_named{0};  // the process whose path it is

bool wants_end() { return g_ends.load() != 0; }

using Folder = Line<kMostFolder + 32>;

void add_folder_in_tmp(Text& text) { text.add("/tmp/acre-").decimal(owner()); }

// --- The socket ---------------------------------------------------------------------------------------------------

class Listener {
 public:
  ~Listener() {
    if (socket_ >= 0) os::close_file(static_cast<int>(socket_));
  }

  // Makes sure that there is a socket under its name. Returns false if there is none. While the ids of the process are
  // not only its owner's, no socket is made: the user for whom the process acts would determine the folder.
  bool keep_open() {
    if (why_nobody_may_ask() != nullptr) return socket_ >= 0;
    if (socket_ >= 0 && os::identify_path(g_path) == file_) return true;
    if (!open_in_runtime_folder() && !open_in_tmp()) return socket_ >= 0;  // the old one has other names
    return true;
  }

  int socket() const { return static_cast<int>(socket_); }

 private:
  bool open_in_tmp() {
    Folder folder;
    add_folder_in_tmp(folder);
    return open_in(folder);
  }

  bool open_in_runtime_folder() {
    Folder folder;
    folder.add(g_runtime_folder).add("/acre");
    return *g_runtime_folder != '\0' && open_in(folder);
  }

  bool open_in(const Folder& folder) {
    if (!os::make_own_folder(folder.c_str(), owner())) return false;
    const int process = getpid();
    Line<os::kMostSocketPath> path, at_first;
    path.add(folder.c_str()).add('/').decimal(static_cast<uint64_t>(process)).add(".sock");
    at_first.add(folder.c_str()).add("/.").decimal(static_cast<uint64_t>(process));
    const long made = os::listen_at(path.c_str(), at_first.c_str());
    if (made < 0) return false;
    if (socket_ >= 0) os::close_file(static_cast<int>(socket_));
    socket_ = made;
    g_named.store(0);
    strcpy(g_path, path.c_str());
    file_ = os::identify_path(g_path);
    g_named.store(process);
    return true;
  }

  long socket_ = -1;
  os::FileIdentity file_;
};

// --- The thread ---------------------------------------------------------------------------------------------------

void* attend(void*) {
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);  // the C library's allocations here come from fallback heaps
  os::name_this_thread("acre-control");
  Listener listener;
  Clients clients(g_ends);
  for (unsigned failures = os::leave_descriptors() ? 0 : kMostFailures; failures < kMostFailures && !wants_end();) {
    if (!listener.keep_open()) {
      ++failures;
      os::wait_while(g_ends, 0, kLookMs);
      continue;
    }
    failures = 0;
    if (wants_end()) break;  // on_last_thread() rings where the socket has its name by then
    clients.attend(listener.socket(), smaller(snapshot::look(), kLookMs));
  }
  if (g_named.exchange(0) == getpid()) os::remove_file(g_path);
  return nullptr;
}

void start_thread();

// Runs on a tick in the child of a fork, and after the system refused a thread.
void on_tick(Heap& heap) {
  if (Mutex::this_thread_forks() || os::now_ms() < g_retry_at_ms.load(std::memory_order_relaxed)) return;
  start_thread();
  if (&heap == heap_if_any()) empty_heap(heap);  // the C library has allocated from it
}

// The calling thread is the last one with a heap. It waits until the internal thread has ended: if the process ends
// now, the C library's work at exit must run in the thread that has the program's descriptors.
void on_last_thread() {
  State state = State::kRunning;
  if (!g_state.compare_exchange_strong(state, State::kEnding)) return;
  g_ends.store(1);
  os::wake(g_ends);
  if (g_named.load() != 0) os::ring_at(g_path);
  os::join_thread(g_thread);
  g_ends.store(0);
  g_state.store(State::kNone);
  internal_thread::tell_of_ticks(on_tick);
}

void start_thread() {
  State state = g_state.load();
  if (state == State::kRunning || state == State::kEnding) return;
  if (!g_state.compare_exchange_strong(state, State::kEnding)) return;  // kEnding until the thread's number is known
  internal_thread::g_on_tick.store(nullptr);
  if (os::start_thread(attend, &g_thread)) return g_state.store(State::kRunning);
  g_retry_at_ms.store(os::now_ms() + kRetryMs, std::memory_order_relaxed);
  internal_thread::tell_of_ticks(on_tick);
  g_state.store(State::kRefused);
}

// Makes the child's next event at the slow path a tick, so that the child soon has its thread. Without the option the
// child waits for a request of its own.
void after_fork_in_child() {
  g_state.store(State::kNone);
  g_ends.store(0);
  g_named.store(0);
  g_retry_at_ms.store(0);
  snapshot::after_fork_in_child();
  if (!options().control) return internal_thread::g_on_tick.store(nullptr);
  internal_thread::tell_of_ticks(on_tick);
  if (Heap* heap = heap_if_any()) tick_soon(*heap);
}

// Looks in the environment of the start. The environment of a program with more rights than its user is not trusted.
void find_runtime_folder() {
  for (char** at = environ; at != nullptr && *at != nullptr && getauxval(AT_SECURE) == 0; ++at) {
    constexpr char kName[] = "XDG_RUNTIME_DIR=/";
    if (strncmp(*at, kName, sizeof kName - 1) != 0) continue;
    const char* path = *at + sizeof kName - 2;
    if (strlen(path) < kMostFolder && os::is_own_folder(path, owner())) strcpy(g_runtime_folder, path);
    return;
  }
}

void start_and_follow_process() {
  internal_thread::g_after_fork_in_child.store(after_fork_in_child, std::memory_order_relaxed);
  internal_thread::g_on_last_thread.store(on_last_thread, std::memory_order_relaxed);
  start_thread();
}

// --- On request ---------------------------------------------------------------------------------------------------

constinit std::atomic<uint64_t> g_next_look_ms{0};

// Removes the request, so that a later process with this number does not find it.
bool takes_request() {
  settle_owner();
  Folder folder, path;
  add_folder_in_tmp(folder);
  path.add(folder.c_str()).add('/').decimal(static_cast<uint64_t>(getpid())).add(".ask");
  if (!os::is_file_of(path.c_str(), owner()) || !os::is_own_folder(folder.c_str(), owner())) return false;
  if (why_nobody_may_ask() != nullptr) return false;
  os::remove_file(path.c_str());
  return true;
}

}  // namespace

void start() {
  settle_owner();
  find_runtime_folder();
  start_and_follow_process();
}

uint64_t look_for_request(Heap* heap, uint64_t now_ms) {
  if (g_state.load(std::memory_order_relaxed) != State::kNone || !relaxed_load(options().control_on_request) ||
      getauxval(AT_SECURE) != 0) {
    return kNever;
  }
  uint64_t due = g_next_look_ms.load(std::memory_order_relaxed);
  if (now_ms >= due && g_next_look_ms.compare_exchange_strong(due, now_ms + kRequestLookMs) &&
      !Mutex::this_thread_forks() && takes_request()) {
    start_and_follow_process();
    if (heap != nullptr && heap == heap_if_any()) empty_heap(*heap);  // the C library has allocated from it
  }
  return now_ms + kIdleRequestLookMs;
}

void end() {
  g_ends.store(1);  // the thread must not make the socket anew
  if (g_named.exchange(0) == getpid()) os::remove_file(g_path);
}

}  // namespace acre::live
