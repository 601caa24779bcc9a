// acre's own sockets.
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/syscall.h"
#include "base/text.h"
#include "os/socket.h"

#ifndef SYS_close_range
#define SYS_close_range 436  // on every machine
#endif
#ifndef CLOSE_RANGE_UNSHARE
#define CLOSE_RANGE_UNSHARE (1u << 1)
#endif

namespace acre::os {

static_assert(sizeof(sockaddr_un::sun_path) == kMostSocketPath);

namespace {

constexpr int kBacklog = 16;
constexpr uint64_t kRefusedWaitMs = 100;

struct Name {
  sockaddr_un address = {};
  bool fits;
  explicit Name(const char* path) : fits(strlen(path) < kMostSocketPath) {
    address.sun_family = AF_UNIX;
    if (fits) strcpy(address.sun_path, path);
  }
};

long make_socket() { return raw_syscall(SYS_socket, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

// The C library's fstat, since the system call's number differs between machines.
bool look_at(int descriptor, struct stat* facts) {
  const int saved_errno = errno;
  const bool done = fstat(descriptor, facts) == 0;
  errno = saved_errno;
  return done;
}

// Does not follow a link in the last component.
bool look_at(const char* path, bool only_folders, struct stat* facts) {
  const int flags = O_PATH | O_NOFOLLOW | O_CLOEXEC | (only_folders ? O_DIRECTORY : 0);
  const long file = raw_syscall(SYS_openat, AT_FDCWD, as_long(path), flags);
  if (failed(file)) return false;
  const bool found = look_at(static_cast<int>(file), facts);
  close_file(static_cast<int>(file));
  return found;
}

// Whether in this folder only root can rename this user's files.
bool keeps_names(const char* path, uint32_t user) {
  struct stat facts;
  if (!look_at(path, true, &facts)) return false;
  if (facts.st_uid != 0 && facts.st_uid != user) return false;
  return (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0 || (facts.st_mode & S_ISVTX) != 0;
}

}  // namespace

// The kernel does not copy descriptors that are closed at once, so no pipe or lock of the program lives on here.
bool leave_descriptors() { return raw_syscall(SYS_close_range, 0, ~0u, CLOSE_RANGE_UNSHARE) == 0; }

bool is_own_folder(const char* path, uint32_t user) {
  struct stat facts;
  return look_at(path, true, &facts) && facts.st_uid == user && (facts.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

bool is_file_of(const char* path, uint32_t user) {
  struct stat facts;
  return look_at(path, false, &facts) && S_ISREG(facts.st_mode) && (facts.st_uid == user || facts.st_uid == 0);
}

bool make_own_folder(const char* path, uint32_t user) {
  const char* end = strrchr(path, '/');
  if (end == nullptr || end == path) return false;
  Line<1100> above;
  for (const char* at = path; at != end; ++at) above.add(*at);
  if (!keeps_names(above.c_str(), user)) return false;
  if (raw_syscall(SYS_mkdirat, AT_FDCWD, as_long(path), S_IRWXU) == 0) {
    raw_syscall(SYS_fchmodat, AT_FDCWD, as_long(path), S_IRWXU);  // despite the umask
  }
  struct stat facts;
  return look_at(path, true, &facts) && facts.st_uid == user && (facts.st_mode & 0777) == S_IRWXU;
}

long listen_at(const char* path, const char* at_first) {
  const Name name(at_first);
  if (!name.fits || strlen(path) >= kMostSocketPath) return -ENAMETOOLONG;
  const long socket = make_socket();
  if (failed(socket)) return socket;
  remove_file(at_first);
  long result = raw_syscall(SYS_bind, socket, as_long(&name.address), sizeof name.address);
  if (result == 0) result = raw_syscall(SYS_fchmodat, AT_FDCWD, as_long(at_first), S_IRUSR | S_IWUSR);
  if (result == 0) result = raw_syscall(SYS_listen, socket, kBacklog);
  if (result == 0) result = raw_syscall(SYS_renameat2, AT_FDCWD, as_long(at_first), AT_FDCWD, as_long(path));
  if (result == 0) return socket;
  close_file(static_cast<int>(socket));
  remove_file(at_first);
  return result;
}

FileIdentity identify_path(const char* path) {
  struct stat facts;
  if (!look_at(path, false, &facts)) return {};
  return {facts.st_dev, facts.st_ino};
}

bool ring_at(const char* path) {
  const Name name(path);
  const long socket = name.fits ? make_socket() : -ENAMETOOLONG;
  if (failed(socket)) return false;
  const long result = raw_syscall(SYS_connect, socket, as_long(&name.address), sizeof name.address);
  close_file(static_cast<int>(socket));
  return result == 0 || result == -EAGAIN;  // so many clients wait that the thread wakes anyway
}

long accept_client(int socket) {
  return raw_syscall(SYS_accept4, socket, 0, 0, SOCK_CLOEXEC | SOCK_NONBLOCK);
}

static long poll_for(struct pollfd* wanted, unsigned count, uint64_t ms) {
  struct timespec time = {static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1000000)};
  return raw_syscall(SYS_ppoll, as_long(wanted), count, as_long(&time), 0, 0);
}

// The kernel refuses to wait for more descriptors than the process may open (RLIMIT_NOFILE). Callers try again, since the
// limit may be raised, so this waits a little for them.
static bool poll(struct pollfd* wanted, unsigned count, uint64_t ms) {
  const long ready = poll_for(wanted, count, ms);
  if (ready == -EINVAL) poll_for(nullptr, 0, smaller(ms, kRefusedWaitMs));
  return ready > 0;
}

bool wait_for(int socket, Direction direction, uint64_t ms) {
  struct pollfd wanted = {socket, static_cast<short>(direction == Direction::kRead ? POLLIN : POLLOUT), 0};
  return poll(&wanted, 1, ms);
}

uint32_t wait_for_any(const int* sockets, unsigned count, uint64_t ms) {
  struct pollfd wanted[kMostAwaited];
  for (unsigned i = 0; i < count; ++i) wanted[i] = {sockets[i], POLLIN, 0};
  uint32_t readable = 0;
  const bool any = poll(wanted, count, ms);
  for (unsigned i = 0; any && i < count; ++i) readable |= uint32_t{wanted[i].revents != 0} << i;
  return readable;
}

long receive(int socket, char* buffer, size_t capacity) {
  return raw_syscall(SYS_recvfrom, socket, as_long(buffer), static_cast<long>(capacity), MSG_DONTWAIT, 0, 0);
}

long send(int socket, const char* data, size_t bytes) {
  return raw_syscall(SYS_sendto, socket, as_long(data), static_cast<long>(bytes), MSG_DONTWAIT | MSG_NOSIGNAL, 0, 0);
}

uint32_t user_of_peer(int socket) {
  struct ucred peer = {};
  socklen_t size = sizeof peer;
  const long result = raw_syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, as_long(&peer), as_long(&size));
  return result == 0 ? peer.uid : kNoUser;
}

Ids user_ids() {
  Ids ids;
  const bool told = raw_syscall(SYS_getresuid, as_long(&ids.real), as_long(&ids.effective), as_long(&ids.saved)) == 0;
  return told ? ids : Ids{};
}

Ids group_ids() {
  Ids ids;
  const bool told = raw_syscall(SYS_getresgid, as_long(&ids.real), as_long(&ids.effective), as_long(&ids.saved)) == 0;
  return told ? ids : Ids{};
}

bool is_dumpable() { return raw_syscall(SYS_prctl, PR_GET_DUMPABLE, 0, 0, 0, 0) == 1; }

bool has_capabilities() {
  __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct part[_LINUX_CAPABILITY_U32S_3] = {};
  if (raw_syscall(SYS_capget, as_long(&head), as_long(part)) != 0) return true;
  return (part[0].permitted | part[1].permitted) != 0;
}

}  // namespace acre::os
