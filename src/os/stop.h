// Stops all other threads of the process for a moment, and reads their registers. A helper process that shares this
// one's memory (clone with CLONE_VM) stops the threads by ptrace, without a signal, and does the work. A fault in the
// helper ends only the helper.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::os {

struct ThreadState {
  static constexpr size_t kMostWords = 384;

  int id;
  Address stack_pointer;
  Address control_block;      // thread-local storage is found from it
  size_t words;
  Address word[kMostWords];   // registers, vector registers included
};

struct Threads {
  const ThreadState* thread = nullptr;  // the caller, then the stopped threads
  unsigned count = 0;
  unsigned running = 0;                 // threads that the system refused to stop
  unsigned refusal = 0;                 // the error number of the last refusal, 0 if there was none
  Address helper_start = 0;             // the helper's memory, with its stack
  Address helper_end = 0;
};

enum class Stopped {
  kDone,
  kRefused,  // no memory, or no helper: nothing was done
  kDied,     // the helper died during the work
};

// Calls `work` while all other threads are stopped. The call is in the helper: it may read and write all memory, make
// system calls and map memory, but must not take a lock, which a stopped thread may hold. Threads that cannot be
// stopped run on. One call at a time in the process. The calling thread's signals are blocked meanwhile.
Stopped with_threads_stopped(void (*work)(const Threads& threads, void* argument), void* argument);

}  // namespace acre::os
