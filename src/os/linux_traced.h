// A thread that another process, the helper of linux_stop.cc, has stopped by ptrace.
#pragma once

#include "os/stop.h"

namespace acre::os {

struct Traced {
  int id;
  int signal = 0;         // about to be delivered when the thread stopped
  bool stopped = false;
  bool stepping = false;  // it was to run one instruction, and has not stopped since
  bool at_return = false;  // the instruction of acre's where it was last is a return
  bool returned = false;   // it has left acre's code by a return, so some registers have no meaning any more
};

// Called once in the helper, which must share no signal handlers with the process. Without it waits have no limit.
void wake_waits();

// Returns 0, or the error number.
int stop_thread(Traced* traced);

// Inside acre a thread may know the block that it is about to return by no address yet. Lets a thread that is there go
// on, an instruction at a time, until it has left acre's code. It stays inside where it waits for another thread, where
// a signal arrives, and after some thousand steps.
void leave_own_code(Traced* traced);

void read_state(const Traced& traced, ThreadState* state);

// Lets the thread go on. One that is stepping would die of the trap after the step if nobody took that, so it is waited
// for.
void release_thread(Traced* traced);

}  // namespace acre::os
