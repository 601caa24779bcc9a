// Files: those that give memory, and those that acre itself reads and writes.
#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <linux/mman.h>
#include <limits.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/syscall.h"
#include "base/text.h"
#include "os/os.h"

#ifndef HUGETLBFS_MAGIC
#define HUGETLBFS_MAGIC 0x958458f6
#endif

namespace acre::os {

namespace {

// Programs count on the low numbers, and close them.
constexpr int kLeastDescriptor = 100;

long open_path(const char* path, int flags) {
  return raw_syscall(SYS_openat, AT_FDCWD, as_long(path), flags | O_RDWR | O_CLOEXEC | O_NOCTTY, 0600);
}

// If the file system has no O_TMPFILE, makes a file with a name and removes the name.
long open_nameless(const char* folder) {
  const long fd = open_path(folder, O_TMPFILE);
  if (!failed(fd) || fd == -ENOENT || fd == -ENOTDIR) return fd;
  for (unsigned i = 0; i < 1000; ++i) {
    Line<1200> name;
    name.add(folder).add("/.acre-").decimal(static_cast<uint64_t>(getpid())).add('-').decimal(i);
    const long made = open_path(name.c_str(), O_CREAT | O_EXCL);
    if (made == -EEXIST) continue;
    if (!failed(made)) raw_syscall(SYS_unlinkat, AT_FDCWD, as_long(name.c_str()), 0);
    return made;
  }
  return -EEXIST;
}

long open_kind(const char* path, FileKind kind) {
  if (kind == FileKind::kDevice) return open_path(path, 0);
  if (kind == FileKind::kNew) return open_path(path, O_CREAT | O_EXCL);
  const long fd = open_nameless(path);
  return fd == -ENOENT || fd == -ENOTDIR ? open_path(path, O_CREAT) : fd;
}

// The C library's fstat is a plain system call; the call's number differs between machines.
bool identify(int descriptor, struct stat* facts) {
  const int saved_errno = errno;
  const bool done = fstat(descriptor, facts) == 0;
  errno = saved_errno;
  return done;
}

}  // namespace

OpenFile open_to_map(const char* path, FileKind kind) {
  OpenFile file;
  long fd = open_kind(path, kind);
  if (failed(fd)) {
    file.error = static_cast<int>(-fd);
    return file;
  }
  const long high = raw_syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, kLeastDescriptor);
  if (!failed(high)) {
    raw_syscall(SYS_close, fd);
    fd = high;
  }
  file.descriptor = static_cast<int>(fd);
  struct stat facts;
  if (!identify(file.descriptor, &facts)) {
    raw_syscall(SYS_close, fd);
    OpenFile refused;
    refused.error = EIO;
    return refused;
  }
  file.identity = {facts.st_dev, facts.st_ino};
  file.is_empty = facts.st_size == 0;
  struct statfs system;
  file.has_huge_pages = raw_syscall(SYS_fstatfs, fd, as_long(&system)) == 0 &&
                        static_cast<unsigned long>(system.f_type) == HUGETLBFS_MAGIC;
  return file;
}

void close_file(const OpenFile& file) {
  if (is_still(file)) raw_syscall(SYS_close, file.descriptor);
}

bool is_still(const OpenFile& file) {
  struct stat facts;
  if (file.descriptor < 0 || !identify(file.descriptor, &facts)) return false;
  return file.identity == FileIdentity{facts.st_dev, facts.st_ino};
}

bool allocate_in_file(const OpenFile& file, uint64_t offset, size_t bytes) {
  if (!testing::granted()) return false;
  long result;
  do {
    result = raw_syscall(SYS_fallocate, file.descriptor, 0, static_cast<long>(offset), static_cast<long>(bytes));
  } while (result == -EINTR);
  return result == 0;
}

bool extend_file(const OpenFile& file, uint64_t end) {
  struct stat facts;
  if (!identify(file.descriptor, &facts)) return false;
  if (static_cast<uint64_t>(facts.st_size) >= end) return true;
  return raw_syscall(SYS_ftruncate, file.descriptor, static_cast<long>(end)) == 0;
}

bool punch_hole(const OpenFile& file, uint64_t offset, size_t bytes) {
  return raw_syscall(SYS_fallocate, file.descriptor, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                     static_cast<long>(offset), static_cast<long>(bytes)) == 0;
}

bool map_file_at(void* start, size_t bytes, const OpenFile& file, uint64_t offset, Sharing sharing) {
  if (!testing::granted()) return false;
  const int flags = MAP_FIXED | (sharing == Sharing::kPrivate ? MAP_PRIVATE : MAP_SHARED);
  return !failed(raw_syscall(SYS_mmap, as_long(start), static_cast<long>(bytes), PROT_READ | PROT_WRITE, flags,
                             file.descriptor, static_cast<long>(offset)));
}

void make_own(void* start, size_t bytes) {
  const long result = raw_syscall(SYS_madvise, as_long(start), static_cast<long>(bytes), MADV_POPULATE_WRITE);
  if (result == 0 || result == -ENOMEM) return;
  auto* memory = static_cast<volatile char*>(start);  // before Linux 5.14, or madvise refused
  for (size_t at = 0; at < bytes; at += kPageBytes) memory[at] = memory[at];
}

// --- Files that acre itself reads and writes ------------------------------------------------------------------

long read_file(const char* path, char* buffer, size_t capacity) {
  const long file = open_file(path);
  if (failed(file)) return file;
  size_t size = 0;
  long got;
  char beyond;
  do {
    got = size < capacity ? read_some(static_cast<int>(file), buffer + size, capacity - size)
                          : read_some(static_cast<int>(file), &beyond, 1);
    if (got > 0) size += static_cast<size_t>(got);
  } while (got > 0 && size <= capacity);
  close_file(static_cast<int>(file));
  if (got < 0) return got;
  return size > capacity ? kTooLong : static_cast<long>(size);
}

long open_file(const char* path) {
  return raw_syscall(SYS_openat, AT_FDCWD, as_long(path), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}

long create_file(const char* path) {
  constexpr long kForAll = 0666;  // the umask limits it
  return raw_syscall(SYS_openat, AT_FDCWD, as_long(path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, kForAll);
}

long create_unnamed_file(const char* path) {
  constexpr long kForAll = 0666;
  char folder[PATH_MAX] = ".";
  const char* slash = strrchr(path, '/');
  const size_t bytes = slash == nullptr ? 0 : static_cast<size_t>(slash - path) + 1;
  if (bytes >= sizeof folder) return -ENAMETOOLONG;
  if (bytes != 0) memcpy(folder, path, bytes);
  return raw_syscall(SYS_openat, AT_FDCWD, as_long(folder), O_WRONLY | O_TMPFILE | O_CLOEXEC, kForAll);
}

int name_file(int file, const char* path) {
  Line<40> unnamed;
  unnamed.add("/proc/thread-self/fd/").decimal(static_cast<uint64_t>(file));
  return static_cast<int>(-raw_syscall(SYS_linkat, AT_FDCWD, as_long(unnamed.c_str()), AT_FDCWD, as_long(path),
                                       AT_SYMLINK_FOLLOW));
}

bool is_file_or_nothing(const char* path) {
  struct stat facts;
  const long result = raw_syscall(SYS_newfstatat, AT_FDCWD, as_long(path), as_long(&facts), AT_SYMLINK_NOFOLLOW);
  return result == 0 ? S_ISREG(facts.st_mode) : result == -ENOENT;
}

int rename_file(const char* from, const char* to) {
  return static_cast<int>(-raw_syscall(SYS_renameat2, AT_FDCWD, as_long(from), AT_FDCWD, as_long(to)));
}

void remove_file(const char* path) { raw_syscall(SYS_unlinkat, AT_FDCWD, as_long(path), 0); }

long read_some(int file, char* buffer, size_t capacity) {
  long got;
  do {
    got = raw_syscall(SYS_read, file, as_long(buffer), static_cast<long>(capacity));
  } while (got == -EINTR);
  return got;
}

long read_at(int file, uint64_t offset, void* buffer, size_t bytes) {
  long got;
  do {
    got = raw_syscall(SYS_pread64, file, as_long(buffer), static_cast<long>(bytes), static_cast<long>(offset));
  } while (got == -EINTR);
  return got;
}

int write_file(int file, const char* data, size_t bytes) {
  while (bytes != 0) {
    const long written = raw_syscall(SYS_write, file, as_long(data), static_cast<long>(bytes));
    if (written == -EINTR) continue;
    if (written <= 0) return written == 0 ? EIO : static_cast<int>(-written);
    data += written;
    bytes -= static_cast<size_t>(written);
  }
  return 0;
}

void close_file(int file) { raw_syscall(SYS_close, file); }

}  // namespace acre::os
