// All other threads of the process stopped for a moment, and what their registers hold.
//
// A helper process is made that shares this one's memory (clone with CLONE_VM). It stops the threads by ptrace, without
// a signal, and does the work. Where it faults, it ends, and nothing else does.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::os {

struct ThreadState {
  static constexpr size_t kMostWords = 384;

  int id;
  Address stack_pointer;
  Address control_block;      // what thread-local storage is found from
  size_t words;
  Address word[kMostWords];   // its registers, vector registers included
};

struct Threads {
  const ThreadState* thread = nullptr;  // those that are stopped, and the caller, the first
  unsigned count = 0;
  unsigned running = 0;                 // the others: the system refused to stop them
  unsigned refusal = 0;                 // the error number of the last refusal, 0 if there was none
  Address helper_start = 0;             // memory of the helper's, its stack among it
  Address helper_end = 0;
};

enum class Stopped {
  kDone,
  kRefused,  // no memory, or no helper: nothing was done
  kDied,     // the helper died at its work
};

// Calls `work` while all other threads are stopped. It is called in the helper: it may read and write all memory,
// make system calls and map memory, but must not take a lock, which a stopped thread may hold. Threads that cannot be
// stopped run on. One call at a time in the process. Signals are blocked meanwhile for the calling thread.
Stopped with_threads_stopped(void (*work)(const Threads& threads, void* argument), void* argument);

}  // namespace acre::os
