// The control socket, by which a user reads and changes a running process (option `control`; docs/live.md).
//
// An internal thread listens at a socket in the file system, PID.sock in a folder that only the user may enter. It
// serves its clients one after the other, each within bounds (live/clients.h); live/authority.h decides which clients.
// The thread has all signals blocked, descriptors of its own (os/socket.h) and no heap, and allocates nothing. It starts
// when the library is loaded, and in the child of a fork when the child comes to the slow path. It ends when no thread
// has a heap any more, so that it keeps no process alive.
//
// Without the option the process looks for a request once a second, while it comes to the slow path or has a background
// thread: a file of the owner's or root's, PID.ask in /tmp/acre-UID. Then it starts the thread. The file only asks for a
// socket. Who may ask there is decided for each client, as ever.
#pragma once

#include "reclaim/internal_thread.h"

namespace acre::live {

// Called by the library's constructor, if the option is set.
void start();

// The thread was started, with the option or on request.
inline bool is_started() { return internal_thread::g_on_last_thread.load(std::memory_order_relaxed) != nullptr; }

// Removes the socket's file when the process ends by exit. Any thread may call it, once, if is_started().
void end();

// For internal_thread::g_on_look: starts the thread if there is a request. Returns when an idle process should look
// again (ms).
uint64_t look_for_request(Heap* heap, uint64_t now_ms);

// Called by the library's constructor, without the option. Inline, as is_started(): most processes come to no other code
// of this folder's, whose pages would count as resident.
inline void start_on_request() { internal_thread::g_on_look.store(look_for_request, std::memory_order_relaxed); }

}  // namespace acre::live
