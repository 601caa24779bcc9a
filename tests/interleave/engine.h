// A search over the interleavings of small concurrent scenarios that run the real code.
//
// The code under test is compiled with -fsanitize=thread and linked with tsan_runtime.cc in place of the sanitizer's
// library. So each access to memory comes to this engine with the memory order that the source gives it, and the
// source needs no change. Threads are fibers. A thread can be preempted before each atomic access.
//
// Memory model. Each atomic object has a history of stores, in the order of execution. A load may return any store
// that C++ lets its thread see: none older than one the thread has seen, or learnt of by acquire and release. So a
// store may seem delayed for as long as nothing orders it. Read-modify-writes return the newest store. Not modelled:
// modification orders other than the order of execution, loads that return later stores (load buffering), and failures
// of a weak compare-exchange for no reason. Plain accesses must be ordered by happens-before: the search reports every
// data race.
//
// Search. Depth first, with dynamic partial-order reduction (Flanagan and Godefroid, 2005) and sleep sets. A bound on
// preemptions is optional.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace interleave {

inline constexpr unsigned kMostThreads = 4;

struct Scenario {
  const char* name;
  const char* what;  // one line for people
  unsigned threads;
  std::function<void()> set_up;          // before the threads, alone
  std::function<void(unsigned)> run;     // the body of a thread
  std::function<void()> finish;          // after all threads, alone; null: nothing
};

struct Options {
  unsigned most_preemptions = ~0u;
  uint64_t most_executions = ~uint64_t{0};
  // Places in the code, by address, whose memory order is weakened: to `weaker`, one of "relaxed", "acquire", "release".
  std::set<uintptr_t> weakened;
  std::string weaker = "relaxed";
  bool trace = true;  // a failure prints its interleaving
};

// A place in the code with an atomic access whose order is stronger than relaxed.
struct Site {
  uintptr_t pc;
  const char* kind;   // load, store, rmw, fence
  const char* order;
  auto operator<=>(const Site& other) const { return pc <=> other.pc; }
};

struct Result {
  bool failed = false;
  std::string message;    // of the failure
  std::string trace;      // the interleaving that led to it
  uint64_t executions = 0;
  uint64_t steps = 0;
  size_t deepest = 0;
  std::set<Site> sites;
};

Result explore(const Scenario& scenario, const Options& options);

// --- For scenarios and stubs -----------------------------------------------------------------------------------

// Ends this interleaving as one that must not be. In a thread of a scenario it does not return.
[[noreturn]] void fail(const char* format, ...) __attribute__((format(printf, 1, 2)));

// Number of the thread that runs; threads of the scenario have 0, 1, …
unsigned current();

// The thread cannot go on as long as this atomic object has this value.
void wait_while(const void* address, unsigned bytes, uint64_t value);

// The memory whose accesses are searched: everything that threads share must lie here. Accesses elsewhere are not seen.
// All of it is zero before set_up.
inline constexpr size_t kWorldBytes = size_t{512} << 10;
// Behind it is memory whose accesses are not seen, for objects of which scenarios use the start alone.
inline constexpr size_t kUnseenBytes = size_t{4} << 20;
extern char g_world[kWorldBytes + kUnseenBytes];

// A name for an object in the world, for traces.
void name(const void* address, const char* text);

}  // namespace interleave
