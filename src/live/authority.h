// Who may ask at the socket.
//
// A client is answered only if it could take over the process by ptrace anyway. It must be root or the user that
// started the process, and the process must run as that user alone, with no right that the user lacks.
#pragma once

#include <cstdint>

namespace acre::live {

// Makes the real user that the program was started by (exec) the owner of the socket, for the life of the process and of
// its children. May be called late: the kernel keeps that user for the process.
void settle_owner();
uint32_t owner();

// Returns why the process answers nobody now: its ids are not only its owner's, or it is not dumpable. Returns null if
// it answers. Must be called by the thread that acts, since each thread has its own ids.
const char* why_nobody_may_ask();

// Returns why the client of this connection may not ask now, or null if it may. The client's user was fixed when it
// connected; the ids of the process may change at any time.
const char* why_not(int client);

}  // namespace acre::live
