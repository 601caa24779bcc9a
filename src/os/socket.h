// Sockets in the file system, for clients that ask this process from outside. No function touches errno or allocates.
// Results below 0 are negative error numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.h"

namespace acre::os {

// Gives the calling thread an empty set of descriptors of its own. Descriptors that it opens from now on take no number
// from the program, the program cannot close them, and no fork inherits them. False if refused, as before Linux 5.9.
bool leave_descriptors();

// Makes the folder if there is none. True: it is `user`'s, nobody else may enter it, and nobody else can put another in
// its place. Follows no link in the last component.
bool make_own_folder(const char* path, uint32_t user);

// Whether this is a folder that `user` owns and nobody else may write to. Follows no link in the last component.
bool is_own_folder(const char* path, uint32_t user);

// Whether this is a regular file of `user`'s or root's. Follows no link in the last component.
bool is_file_of(const char* path, uint32_t user);

// Returns a socket that listens at this path, in place of what was there. It is made at the path `at_first` and renamed
// when it listens, so that no client finds a dead socket.
long listen_at(const char* path, const char* at_first);

// Bytes in the path of a socket, with the 0 at its end.
inline constexpr size_t kMostSocketPath = 108;

// The file at this path; zeroes if there is none.
FileIdentity identify_path(const char* path);

// Connects and hangs up, which wakes the thread that accepts there. False: nobody listens.
bool ring_at(const char* path);

// Returns a waiting client, whose socket never blocks, or -EAGAIN.
long accept_client(int socket);

// Whether the descriptor can be read or written within so many milliseconds, or has failed.
enum class Direction : uint8_t { kRead, kWrite };
bool wait_for(int socket, Direction direction, uint64_t ms);

// Waits for so many milliseconds at most until one of up to 32 descriptors can be read or has failed. Bit i is set if
// sockets[i] can be. A number below 0 is no descriptor.
inline constexpr unsigned kMostAwaited = 32;
uint32_t wait_for_any(const int* sockets, unsigned count, uint64_t ms);

// Returns the bytes moved, as many as possible now, or -EAGAIN. receive: 0 is the end. There is no SIGPIPE.
long receive(int socket, char* buffer, size_t capacity);
long send(int socket, const char* data, size_t bytes);

// The user at the other end of a connection, at the time it was made.
inline constexpr uint32_t kNoUser = ~uint32_t{0};
uint32_t user_of_peer(int socket);

// The calling thread's ids in the kernel. A library such as fakeroot's may change libc's answer.
struct Ids {
  uint32_t real = kNoUser;
  uint32_t effective = kNoUser;
  uint32_t saved = kNoUser;
  bool agree() const { return real == effective && real == saved; }
};
Ids user_ids();
Ids group_ids();

// Whether the kernel lets the process's own user look into it (PR_GET_DUMPABLE): not after a change of ids, say.
bool is_dumpable();

// Whether the calling thread has a capability, or could take one up. True if the kernel does not tell.
bool has_capabilities();

}  // namespace acre::os
