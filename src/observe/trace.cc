#include "observe/trace.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <atomic>

#include "base/mutex.h"
#include "base/text.h"
#include "observe/hooks.h"
#include "os/os.h"
#include "tables/options.h"

namespace acre::trace {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;
constexpr size_t kMostLine = 128;
constexpr unsigned kMostPrograms = 1000;  // that one process runs one after the other
constexpr uint64_t kMostWaitNs = 1000000000;  // the first line after that has the buffer written

enum class State : uint8_t { kOff, kToOpen, kOpen, kEnding };
constinit std::atomic<State> g_state{State::kOff};

constinit Mutex g_lock{Rank::kTrace};
constinit char* g_buffers = nullptr;  // two
constinit unsigned g_current ACRE_GUARDED_BY(g_lock) = 0;
constinit size_t g_size ACRE_GUARDED_BY(g_lock) = 0;          // of the current buffer
constinit uint64_t g_written_at ACRE_GUARDED_BY(g_lock) = 0;
constinit std::atomic<uint32_t> g_writing{0};                 // 1: a thread writes the other buffer
constinit os::OpenFile g_file;                                // for the thread that writes
constinit unsigned g_again = 0;                               // the same
constinit bool g_failed = false;                              // the same: a failure was reported

using Path = Line<kMostPath + 30>;

bool has_number() { return strstr(path_of(options().utrace), "%p") != nullptr; }

// again: not 0 for a later program of the same process, after exec.
void make_path(Path* path, unsigned again) {
  path->clear();
  for (const char* at = path_of(options().utrace); *at != '\0'; ++at) {
    if (at[0] == '%' && at[1] == 'p') {
      path->decimal(static_cast<uint64_t>(getpid()));
      ++at;
    } else {
      path->add(*at);
    }
  }
  if (again != 0) path->add('.').decimal(again);
}

void say(const char* before, const char* path, const char* after) {
  Line<kMostPath + 200> line;
  line.add("acre: utrace: ").add(before).add(path).add(after).add('\n');
  write_all(STDERR_FILENO, line.c_str(), line.size());
}

// Threads take their heaps back when they next come to the slow path.
void stop() {
  g_state.store(State::kOff);
  hooks::set_traced(false);
}

bool open() {
  Path path;
  const unsigned tries = has_number() ? kMostPrograms : 1;
  for (unsigned i = 0; i < tries; ++i) {
    make_path(&path, i);
    g_file = os::open_to_map(path.c_str(), os::FileKind::kNew);
    g_again = i;
    if (g_file.error != EEXIST) break;
  }
  if (g_file.descriptor >= 0) {
    State expected = State::kToOpen;
    g_state.compare_exchange_strong(expected, State::kOpen);  // unless it is ending
    return true;
  }
  say("no trace: ", path.c_str(), g_file.error == EEXIST ? " is there already" : " cannot be made");
  return false;
}

bool try_to_write(const char* data, size_t bytes) {
  if (g_file.descriptor < 0 && !open()) return false;
  Path path;
  make_path(&path, g_again);
  if (!os::is_still(g_file)) {
    say("the program has closed ", path.c_str(), ": the trace ends there");
    return false;
  }
  const int error = os::write_file(g_file.descriptor, data, bytes);
  if (error == 0) return true;
  Line<60> reason;
  reason.add(" could not be written (error ").decimal(static_cast<uint64_t>(error)).add("): the trace ends there");
  say("", path.c_str(), reason.c_str());
  return false;
}

bool write(const char* data, size_t bytes) {
  g_failed = g_failed || !try_to_write(data, bytes);
  return !g_failed;
}

// One thread at a time writes, so buffers are written in the order in which they were filled.
bool begin_writing() {
  uint32_t idle = 0;
  return g_writing.compare_exchange_strong(idle, 1, std::memory_order_acquire);
}
void end_writing() {
  g_writing.store(0, std::memory_order_release);
  os::wake(g_writing);
}

// Makes the current buffer the other one, which the caller writes.
struct Filled {
  const char* data;
  size_t bytes;
};
Filled take_current(uint64_t now) ACRE_REQUIRES(g_lock) {
  const Filled filled{g_buffers + g_current * kBufferBytes, g_size};
  g_current = 1 - g_current;
  g_size = 0;
  g_written_at = now;
  return filled;
}

enum class Added : uint8_t { kYes, kAndWrite, kNo };

// kAndWrite: the caller has to write `filled`. kNo: both buffers are full.
Added try_to_add(const char* line, size_t size, uint64_t now, Filled* filled) {
  Lock lock(g_lock);
  const bool is_full = kBufferBytes - g_size < size;
  const bool write = (is_full || now - g_written_at >= kMostWaitNs) && g_size != 0 && begin_writing();
  if (is_full && !write) return Added::kNo;
  if (write) *filled = take_current(now);
  memcpy(g_buffers + g_current * kBufferBytes + g_size, line, size);
  g_size += size;
  return write ? Added::kAndWrite : Added::kYes;
}

void add(const char* line, size_t size, uint64_t now) {
  Filled filled;
  Added added;
  while ((added = try_to_add(line, size, now, &filled)) == Added::kNo) os::wait_while(g_writing, 1, UINT64_MAX);
  if (added == Added::kYes) return;
  const bool done = write(filled.data, filled.bytes);
  end_writing();
  if (!done) stop();
}

using TraceLine = Line<kMostLine>;

bool begin(TraceLine* line, uint64_t* now) {
  const State state = g_state.load(std::memory_order_acquire);
  if (state == State::kEnding) stop();  // in the child of a fork
  if (state == State::kOff || state == State::kEnding) return false;
  *now = os::wall_clock_ns();
  line->fixed(*now, 1000000000, 9).add(' ').decimal(os::thread_number()).add(' ');
  return true;
}

void end_line(TraceLine& line, uint64_t now) {
  line.add('\n');
  add(line.c_str(), line.size(), now);
}

}  // namespace

void start() {
  void* memory = os::map(2 * kBufferBytes);
  if (memory == nullptr) return say("no trace: no memory for its buffers", "", "");
  g_buffers = static_cast<char*>(memory);
  g_state.store(State::kToOpen);
  if (!open()) {
    g_state.store(State::kOff);
    return;
  }
  hooks::set_traced(true);
}

bool is_on() { return g_state.load(std::memory_order_relaxed) != State::kOff; }

void end() {
  const State state = g_state.exchange(State::kOff);
  if (state == State::kOff || state == State::kEnding) return;
  while (!begin_writing()) os::wait_while(g_writing, 1, UINT64_MAX);
  Filled filled;
  {
    Lock lock(g_lock);
    filled = take_current(0);
  }
  if (filled.bytes != 0) write(filled.data, filled.bytes);
  end_writing();
}

void allocated(const void* block, size_t bytes) {
  TraceLine line;
  uint64_t now;
  if (!begin(&line, &now)) return;
  line.add("malloc(").decimal(bytes).add(") = ").hex(reinterpret_cast<uintptr_t>(block));
  end_line(line, now);
}

void freeing(const void* block) {
  TraceLine line;
  uint64_t now;
  if (!begin(&line, &now)) return;
  line.add("free(").hex(reinterpret_cast<uintptr_t>(block)).add(')');
  end_line(line, now);
}

void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  g_lock.at_fork(stage);
  if (stage != ForkStage::kInChild) return;
  g_writing.store(0);
  g_size = 0;  // the parent's lines
  if (g_state.load() == State::kOff) return;
  os::close_file(g_file);
  g_file = {};
  g_state.store(has_number() ? State::kToOpen : State::kEnding);
}

}  // namespace acre::trace
