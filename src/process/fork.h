// What becomes of acre in a fork, and where the program ends: both need all locks.
//
// Before a fork acre takes the C library's lock on the list of open files and then its own locks: in this order a
// thread takes them that has a file and allocates. fork itself takes the list's lock after all handlers, which would be
// too late.
#pragma once

namespace acre::fork {

// Once in a process.
void start();

}  // namespace acre::fork
