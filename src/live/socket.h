// The control socket, by which a user reads and changes a running process (option `control`; docs/live.md).
//
// An internal thread listens at a socket in the file system, PID.sock in a folder that only the user may enter. It
// serves one client at a time, each within a deadline; live/authority.h decides which clients. The thread has all
// signals blocked, descriptors of its own (os/socket.h) and no heap, and allocates nothing. It starts when the library
// is loaded, and in the child of a fork when the child comes to the slow path. It ends when no thread has a heap any
// more, so that it keeps no process alive.
#pragma once

namespace acre::live {

// Called by the library's constructor, if the option is set.
void start();

// Removes the socket's file when the process ends by exit. Any thread may call it, once.
void end();

}  // namespace acre::live
