// The control socket: where a user asks and tells a running process (option `control`; docs/live.md).
//
// A thread of acre's own listens at a socket in the file system, PID.sock in a folder that only the user may enter, and
// serves one client at a time, each within a deadline. live/authority.h says whom. It has all signals blocked, descriptors of its own (os/socket.h),
// no heap, and allocates nothing. It is made when the library is loaded; in the child of a fork when that child comes to
// the slow path; and it ends when no thread has a heap any more, so that it keeps no process alive.
#pragma once

namespace acre::live {

// In the library's constructor, if the option is set.
void start();

// The process ends by exit: the socket's file goes. Any thread, once.
void end();

}  // namespace acre::live
