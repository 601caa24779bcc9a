// System calls that are counted for statistics. For the files of this folder that are about Linux.
#pragma once

#include <sys/syscall.h>

#include <atomic>
#include <cstdint>

#include "base/compiler.h"
#include "base/syscall.h"

namespace acre::os {

enum Call : unsigned { kMmap, kMunmap, kMprotect, kMremap, kMadvise, kCallCount };
extern std::atomic<uint64_t> g_calls[kCallCount] ACRE_HIDDEN;
inline constexpr long kCallNumbers[kCallCount] = {SYS_mmap, SYS_munmap, SYS_mprotect, SYS_mremap, SYS_madvise};

template <class... Arguments>
long counted(Call call, Arguments... arguments) {
  g_calls[call].fetch_add(1, std::memory_order_relaxed);
  return raw_syscall(kCallNumbers[call], arguments...);
}

}  // namespace acre::os
