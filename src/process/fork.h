// acre's handlers of a fork, which take all locks, and of the end of the program in fatal(), which leaves them.
//
// Before a fork, acre takes the C library's lock on the list of open files, and then its own locks: the order of a
// thread that has a file and allocates. fork itself takes the list's lock after all handlers, which would be too late.
#pragma once

namespace acre::fork {

// Called once in a process.
void start();

}  // namespace acre::fork
