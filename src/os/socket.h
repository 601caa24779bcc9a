// Sockets in the file system, for whoever asks this process from outside. As in os.h no call touches errno or allocates;
// results below 0 are negative error numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.h"

namespace acre::os {

// The calling thread leaves the process's descriptors for a set of its own, which is empty: what it opens from now on is
// in no number of the program's, what the program closes is none of its, and no fork inherits it. False: the system
// can't (before Linux 5.9), or won't.
bool leave_descriptors();

// Makes the folder if there is none. True: it is a folder of `user` that nobody else may enter, and nobody else can
// put another in its place. Follows no link in its last component.
bool make_own_folder(const char* path, uint32_t user);

// Is there a folder of this name that `user` owns and nobody else may write to?
bool is_own_folder(const char* path, uint32_t user);

// A socket that listens under this name, in place of whatever had it. It is made under the name `at_first` and renamed
// when it listens, so that there is no moment in which a client finds a dead one. The descriptor.
long listen_at(const char* path, const char* at_first);

// The names that such a path may have, with the 0 at its end.
inline constexpr size_t kMostSocketPath = 108;

// The file of this name; all zeroes if there is none.
FileIdentity identify_path(const char* path);

// Connects to this name and hangs up: whoever accepts there wakes. False: nobody listens.
bool ring_at(const char* path);

// A client that waits, or -EAGAIN when there is none. It never blocks afterwards.
long accept_client(int socket);

// Whether the descriptor can be read from, or written to, within so many milliseconds, or has failed.
enum class Direction : uint8_t { kRead, kWrite };
bool wait_for(int socket, Direction direction, uint64_t ms);

// As many bytes as there are or have room at the moment; -EAGAIN: none. Nobody gets a signal. receive: 0 is the end.
long receive(int socket, char* buffer, size_t capacity);
long send(int socket, const char* data, size_t bytes);

// The user at the other end of a connection, when it was made.
inline constexpr uint32_t kNoUser = ~uint32_t{0};
uint32_t user_of_peer(int socket);

// The calling thread's ids, as the kernel has them: a library such as fakeroot's may change what libc says.
struct Ids {
  uint32_t real = kNoUser;
  uint32_t effective = kNoUser;
  uint32_t saved = kNoUser;
  bool agree() const { return real == effective && real == saved; }
};
Ids user_ids();
Ids group_ids();

// Would the kernel let the process's own user look into it (PR_GET_DUMPABLE)? Not after a change of ids, for instance.
bool is_dumpable();

// Does the calling thread have any capability, or could it take one up? True if the kernel does not say.
bool has_capabilities();

}  // namespace acre::os
