// The handler for SIGSEGV, which tells of accesses to guard pages and to blocks that are free.
#pragma once

namespace acre::guard {

// Makes acre's handler the one that the kernel calls: the first time, and when the program has set another one since.
// One system call if nothing has changed. Called for each guarded block, and at the start of the hardened mode.
void watch_for_faults();

// In the child of a fork: forgets what other threads were doing here.
void forget_other_threads();

}  // namespace acre::guard
