// Who may ask at the socket.
//
// A client is answered only where it could take the process over by ptrace anyway: it is root, or the user that the
// process was started by, and the process is now that user alone, with no right that the user lacks.
#pragma once

#include <cstdint>

namespace acre::live {

// The real user becomes the owner of the process's socket, for the process's life and its children's. Once, at the start.
void settle_owner();
uint32_t owner();

// Why the process answers nobody now: it has other ids than its owner's, or is not dumpable. Null: it answers. To be asked
// by the thread that acts, since ids are a thread's.
const char* why_nobody_may_ask();

// Why the client at the other end of this connection may not ask now. Null: it may. Who the client is was settled when it
// connected; what the process is may change at any time.
const char* why_not(int client);

}  // namespace acre::live
