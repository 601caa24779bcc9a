// The handover of memory from the parent of a fork to its child.
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/resource.h>

#include "base/syscall.h"
#include "os/os.h"
#include "os/socket.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 8U
#endif

namespace acre::os {

namespace {

// Since 6.3 the kernel logs or refuses files made without MFD_NOEXEC_SEAL or its opposite; before, it knows neither.
long make_file() {
  const char* name = "acre-fork";
  const long file = raw_syscall(SYS_memfd_create, as_long(name), MFD_CLOEXEC | MFD_NOEXEC_SEAL);
  return file == -EINVAL ? raw_syscall(SYS_memfd_create, as_long(name), MFD_CLOEXEC) : file;
}

size_t file_limit() {
  struct rlimit limit;
  const bool is_told = raw_syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, 0, as_long(&limit)) == 0;
  return is_told ? limit.rlim_cur : 0;
}

void close_end(int* end) {
  if (*end >= 0) raw_syscall(SYS_close, *end);
  *end = -1;
}

}  // namespace

// A write beyond the limit on file sizes would end the process.
Handover begin_handover(size_t bytes) {
  Handover handover;
  int ends[2];
  if (file_limit() < bytes) return handover;
  if (raw_syscall(SYS_pipe2, as_long(ends), O_CLOEXEC) != 0) return handover;
  handover.read_end = ends[0];
  handover.write_end = ends[1];
  const long file = make_file();
  if (file < 0) {
    end_handover(handover);
  } else {
    handover.file.descriptor = static_cast<int>(file);
  }
  return handover;
}

bool hand_over(const Handover& handover, const void* start, size_t bytes) {
  return write_file(handover.file.descriptor, static_cast<const char*>(start), bytes) == 0;
}

// The read end is still open here, so there is no SIGPIPE if the child has ended.
void say_handed_over(const Handover& handover) { write_file(handover.write_end, "", 1); }

bool wait_for_handover(Handover& handover, uint64_t most_ms) {
  close_end(&handover.write_end);  // then only the parent's write end is open
  const uint64_t until = now_ms() + most_ms;
  for (uint64_t now = now_ms(); now < until; now = now_ms()) {  // again after a signal
    if (!wait_for(handover.read_end, Direction::kRead, until - now)) continue;
    char said;
    return read_some(handover.read_end, &said, 1) == 1;
  }
  return false;
}

void end_handover(Handover& handover) {
  close_end(&handover.file.descriptor);
  close_end(&handover.read_end);
  close_end(&handover.write_end);
}

}  // namespace acre::os
