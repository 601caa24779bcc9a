#include "shared.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

namespace acre::trace {

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns) {
  const timespec timeout = {static_cast<time_t>(timeout_ns / 1000000000), static_cast<long>(timeout_ns % 1000000000)};
  syscall(SYS_futex, &word, FUTEX_WAIT, expected, &timeout, nullptr, 0);
}

void futex_wake_all(std::atomic<uint32_t>& word) {
  syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

SharedMemory::~SharedMemory() {
  if (memory_ != nullptr) munmap(memory_, record::kSharedBytes);
  if (file_ >= 0) close(file_);
}

bool SharedMemory::make() {
  file_ = memfd_create("acre-record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (file_ < 0 || ftruncate(file_, static_cast<off_t>(record::kSharedBytes)) != 0) return false;
  // A program that made it shorter would end the collector.
  fcntl(file_, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
  void* const memory = mmap(nullptr, record::kSharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<char*>(memory);
  return true;
}

bool SharedMemory::open(const char* path) {
  file_ = ::open(path, O_RDWR | O_CLOEXEC);
  if (file_ < 0) return false;
  void* const memory = mmap(nullptr, record::kSharedBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  close(file_);
  file_ = -1;
  if (memory == MAP_FAILED) return false;
  memory_ = static_cast<char*>(memory);
  return true;
}

void SharedMemory::release_blocks(unsigned lane) const {
  madvise(memory_ + block_at(lane, 0), record::kLaneBytes, MADV_REMOVE);
}

}  // namespace acre::trace
