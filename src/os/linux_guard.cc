// Guard pages.
#include <sys/mman.h>

#include <cerrno>

#include "os/linux_calls.h"
#include "os/os.h"

namespace acre::os {

namespace {

// The numbers of <linux/mman.h> since 6.13, and 5.14.
constexpr int kInstallGuard = 102;
constexpr int kRemoveGuard = 103;
constexpr int kPopulateRead = 22;

// Makes a page of its own a guard, and asks the kernel for that page. Emulators such as QEMU's user mode report success for
// advice that they do not know.
bool kernel_guards() {
  const size_t bytes = page_bytes();
  void* page = map(bytes);
  if (page == nullptr) return false;
  const auto advise = [&](int advice) { return counted(kMadvise, as_long(page), static_cast<long>(bytes), advice); };
  const bool guards = advise(kInstallGuard) == 0 && advise(kPopulateRead) == -EFAULT;
  unmap(page, bytes);
  return guards;
}

// The first answer holds: what is guarded in one way cannot be made usable in the other.
bool has_guard_regions() {
  static constinit std::atomic<int8_t> has{-1};
  int8_t known = has.load(std::memory_order_relaxed);
  if (known < 0) {
    const int8_t answer = kernel_guards();
    if (has.compare_exchange_strong(known, answer, std::memory_order_relaxed)) known = answer;
  }
  return known != 0;
}

// A range that is mapped otherwise than its neighbours takes two mappings more. The kernel's usual limit is 65530.
constexpr unsigned kMostMappedGuards = 65530 / 8 / 2;
constinit std::atomic<unsigned> g_mapped_guards{0};

}  // namespace

bool guard(void* start, size_t bytes) {
  if (has_guard_regions()) return counted(kMadvise, as_long(start), static_cast<long>(bytes), kInstallGuard) == 0;
  if (g_mapped_guards.fetch_add(1, std::memory_order_relaxed) < kMostMappedGuards && purge(start, bytes) &&
      counted(kMprotect, as_long(start), static_cast<long>(bytes), PROT_NONE) == 0) {
    return true;
  }
  g_mapped_guards.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

bool unguard(void* start, size_t bytes) {
  if (has_guard_regions()) return counted(kMadvise, as_long(start), static_cast<long>(bytes), kRemoveGuard) == 0;
  if (counted(kMprotect, as_long(start), static_cast<long>(bytes), PROT_READ | PROT_WRITE) != 0) return false;
  g_mapped_guards.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

}  // namespace acre::os
