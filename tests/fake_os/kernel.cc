#include "kernel.h"

#include <dlfcn.h>
#include <linux/mman.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>

#include "base/clock.h"
#include "base/syscall.h"
#include "base/units.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

namespace acre::fake_os::kernel {

namespace {

// Advice of Linux 6.13 and 5.14, which older headers do not name.
constexpr long kInstallGuard = 102, kRemoveGuard = 103, kPopulateRead = 22;

constexpr uint64_t kEnd = uint64_t{1} << 47;  // of a process's addresses on x86-64, but for a page

constinit std::atomic<Layout> g_layout{Layout::kOrdinary};
constinit std::atomic<void (*)(uint64_t)> g_after_unmap{nullptr};
constinit std::atomic<uint64_t> g_made{0}, g_first{0}, g_end{0}, g_refused{0};
constinit std::atomic<uint64_t> g_advised{0}, g_misaligned{0}, g_placed{0};
constinit std::atomic<unsigned> g_kinds{0};
constinit std::atomic<int64_t> g_mapped{0};
constinit std::atomic<uint64_t> g_next_place{0};
constinit std::atomic<bool> g_pretends{false};
constinit std::atomic<Bug> g_bug{Bug::kNone};
constinit std::atomic<uint64_t> g_now_ms{0};
constinit ClockFunction g_real_clock = nullptr;

Kind kind_of(long number) {
  switch (number) {
    case SYS_mmap:
      return Kind::kMap;
    case SYS_munmap:
      return Kind::kUnmap;
    case SYS_mprotect:
      return Kind::kProtect;
    case SYS_mremap:
      return Kind::kRemap;
    case SYS_madvise:
      return Kind::kAdvise;
    case SYS_openat:
    case SYS_read:
    case SYS_write:
    case SYS_pread64:
    case SYS_pwrite64:
    case SYS_memfd_create:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_renameat2:
    case SYS_linkat:
    case SYS_readlinkat:
    case SYS_newfstatat:
    case SYS_fstat:
    case SYS_pipe2:
      return Kind::kFile;
    case SYS_getcpu:
    case SYS_sched_getaffinity:
    case SYS_sysinfo:
    case SYS_prlimit64:
    case SYS_clock_gettime:
    case SYS_getrusage:
    case SYS_prctl:
    case SYS_personality:
      return Kind::kFact;
    default:
      return Kind::kCount;  // never refused
  }
}

long error_of(Kind kind, uint64_t number) {
  constexpr int kOfFiles[] = {ENOSPC, EMFILE, EIO, EACCES};
  if (kind == Kind::kFile) return -kOfFiles[number % 4];
  if (kind == Kind::kAdvise) return number % 2 == 0 ? -EINVAL : -EAGAIN;
  return kind == Kind::kFact ? -EPERM : -ENOMEM;
}

bool is_refused(Kind kind, uint64_t number) {
  return (bit_of(kind) & g_kinds.load()) != 0 && number >= g_first.load() && number < g_end.load();
}

// Of the i-th mapping. The finalizer of splitmix64.
uint64_t hash(uint64_t i) {
  i = (i + 1) * 0x9e3779b97f4a7c15;
  i = (i ^ (i >> 30)) * 0xbf58476d1ce4e5b9;
  i = (i ^ (i >> 27)) * 0x94d049bb133111eb;
  return i ^ (i >> 31);
}

uint64_t some_address(uint64_t random, uint64_t bytes) {
  constexpr uint64_t kMost = uint64_t{1} << 40;
  if (bytes > kMost) return 0;
  if (random % 4 == 0) return kEnd - kPageBytes - bytes - (random >> 8) % 16 * kPageBytes;
  if (random % 4 == 1) return (2 << 20) + (random >> 8) % (1 << 30);
  return 0x650000000000 + (random >> 8) % 0x180000000000;
}

uint64_t granularity() {
  switch (g_layout.load()) {
    case Layout::kLargePages:
      return 64 << 10;
    case Layout::kMiddlePages:
      return 16 << 10;
    default:
      return kPageBytes;
  }
}

long map(const long (&a)[6]) {
  constexpr long kFixed = MAP_FIXED | MAP_FIXED_NOREPLACE;
  const uint64_t bytes = align_up(static_cast<uint64_t>(a[1]), granularity());
  const long size = static_cast<long>(bytes);
  const Layout layout = g_layout.load();
  const uint64_t random = hash(g_placed.fetch_add(1));
  if (layout == Layout::kOrdinary || layout == Layout::kManyTebibytes || (a[3] & kFixed) != 0) {
    const bool taken = layout == Layout::kScattered && (a[3] & MAP_FIXED_NOREPLACE) != 0 && random % 4 == 0;
    if (taken) return -EEXIST;
    const auto place = static_cast<long>((a[3] & kFixed) == 0 ? g_next_place.exchange(0) : 0);
    if (place != 0) return kernel_syscall(SYS_mmap, place, size, a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5]);
    return kernel_syscall(SYS_mmap, a[0], size, a[2], a[3], a[4], a[5]);
  }
  for (uint64_t i = 0; i < 32; ++i) {
    const long at = static_cast<long>(align_down(some_address(hash(random + i), bytes), granularity()));
    if (at == 0) break;
    if (kernel_syscall(SYS_mmap, at, size, a[2], a[3] | MAP_FIXED_NOREPLACE, a[4], a[5]) == at) return at;
  }
  return kernel_syscall(SYS_mmap, 0, size, a[2], a[3], a[4], a[5]);
}

long say_memory(const long (&a)[6]) {
  const long result = kernel_syscall(SYS_sysinfo, a[0], 0, 0, 0, 0, 0);
  auto* const info = reinterpret_cast<struct sysinfo*>(a[0]);
  if (g_layout.load() == Layout::kManyTebibytes) info->totalram = (uint64_t{6} << 40) / info->mem_unit;
  return result;
}

long unmap(long start, long bytes) {
  const long result = kernel_syscall(SYS_munmap, start, bytes, 0, 0, 0, 0);
  if (auto* const call = g_after_unmap.exchange(nullptr)) call(static_cast<uint64_t>(start));
  return result;
}

bool is_about_guards(long advice) {
  return advice == kInstallGuard || advice == kRemoveGuard || advice == kPopulateRead;
}
bool gives_back(long advice) { return advice == MADV_DONTNEED || advice == MADV_FREE; }

// What the kernel does with it, bugs in the calls included.
long carry_out(long number, const long (&a)[6]) {
  const Bug bug = g_bug.load();
  const long page = static_cast<long>(granularity());
  const long rounded = static_cast<long>(align_up(static_cast<uint64_t>(a[1]), granularity()));
  switch (number) {
    case SYS_mmap:
      return map(a);
    case SYS_munmap:
      if (bug == Bug::kForgetsToUnmap) return 0;
      return unmap(a[0], rounded + (bug == Bug::kUnmapsTooMuch ? page : 0));
    case SYS_mremap:
      return kernel_syscall(number, a[0], rounded, static_cast<long>(align_up(static_cast<uint64_t>(a[2]), granularity())),
                            a[3], a[4], a[5]);
    case SYS_madvise:
      if (gives_back(a[2])) {
        g_advised.fetch_add(1);
        if (bug == Bug::kForgetsToPurge) return 0;
        if (bug == Bug::kPurgesTooMuch) return kernel_syscall(number, a[0] - page, rounded + page, a[2], 0, 0, 0);
      }
      if (g_pretends.load() && is_about_guards(a[2])) return 0;
      return kernel_syscall(number, a[0], rounded, a[2], 0, 0, 0);
    case SYS_mprotect:
      return kernel_syscall(number, a[0], rounded, a[2], 0, 0, 0);
    case SYS_sysinfo:
      return say_memory(a);
    default:
      return kernel_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
  }
}

void keep_account(long number, const long (&a)[6], long result) {
  if (number == SYS_munmap && g_bug.load() != Bug::kForgetsToUnmap) g_mapped.fetch_sub(a[1]);
  if (failed(result)) return;
  if (number == SYS_mmap && (a[3] & MAP_FIXED) == 0) g_mapped.fetch_add(a[1]);
  if (number == SYS_mremap) {
    const bool onto_other = (a[3] & MREMAP_FIXED) != 0;
    if (!onto_other) g_mapped.fetch_add(a[2] - a[1]);
    if (onto_other && (a[3] & 4) == 0) g_mapped.fetch_sub(a[1]);  // 4: the source stays mapped
  }
}

long answer(long number, const long (&a)[6]) {
  const Kind kind = kind_of(number);
  long result;
  const bool of_pages = number == SYS_munmap || number == SYS_mprotect || number == SYS_madvise || number == SYS_mremap;
  const uint64_t made = kind == Kind::kCount ? 0 : g_made.fetch_add(1);
  if (kind != Kind::kCount && is_refused(kind, made)) {
    g_refused.fetch_add(1);
    result = error_of(kind, made);
    if (g_bug.load() == Bug::kChangesErrno) errno = static_cast<int>(-result);
  } else if (of_pages && (static_cast<uint64_t>(a[0]) & (granularity() - 1)) != 0) {
    g_misaligned.fetch_add(1);
    result = -EINVAL;
  } else if (number == SYS_mremap && (a[3] & 4) != 0 && is_emulated()) {
    // QEMU 7.2 takes the source of a move for unmapped though it stays mapped, and then ignores madvise there.
    result = -EINVAL;
  } else {
    result = carry_out(number, a);
  }
  keep_account(number, a, result);
  return result;
}

bool may_extend() {
  const uint64_t made = g_made.fetch_add(1);
  if (!is_refused(Kind::kMap, made)) return true;
  g_refused.fetch_add(1);
  return false;
}

void note_extended(intptr_t more) {
  const size_t used = align_down(static_cast<size_t>(more), kHugePageBytes);  // the rest is lost
  g_mapped.fetch_add(static_cast<int64_t>(used));
}

int say_time(clockid_t clock, timespec* time) {
  if (clock != CLOCK_MONOTONIC && clock != CLOCK_MONOTONIC_COARSE) {
    if (g_real_clock != nullptr) return g_real_clock(clock, time);
    return static_cast<int>(kernel_syscall(SYS_clock_gettime, clock, as_long(time), 0, 0, 0, 0));
  }
  const uint64_t ms = g_now_ms.load();
  *time = {static_cast<time_t>(ms / 1000), static_cast<long>(ms % 1000 * 1000000)};
  return 0;
}

}  // namespace

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"mmap", "munmap", "mprotect", "mremap", "madvise", "files", "facts"};
  return kNames[static_cast<unsigned>(kind)];
}

bool is_emulated() {
  static const bool is = getenv("ACRE_EMULATOR") != nullptr;
  return is;
}

void pretend_to_guard() { g_pretends.store(true); }
void place_next_at(uint64_t address) { g_next_place.store(address); }
void after_next_unmap(void (*call)(uint64_t)) { g_after_unmap.store(call); }

void begin(Layout layout) {
  g_layout.store(layout);
  g_kernel.store(answer);
}

void refuse(uint64_t first, uint64_t count, unsigned kinds) {
  g_made.store(0);
  g_refused.store(0);
  g_first.store(first);
  g_end.store(first + count);
  g_kinds.store(kinds);
}
void refuse_nothing() {
  g_kinds.store(0);
  g_made.store(0);
}
uint64_t requests() { return g_made.load(); }
bool has_refused() { return g_refused.load() != 0; }

int64_t mapped_bytes() { return g_mapped.load(); }
uint64_t advised() { return g_advised.load(); }
uint64_t misaligned() { return g_misaligned.load(); }

void plant(Bug bug) { g_bug.store(bug); }

void stop_clock() {
  g_real_clock = g_clock_function.load();
  g_now_ms.store(uint64_t{1} << 30);
  g_clock_function.store(say_time);
}
void move_clock(uint64_t ms) { g_now_ms.fetch_add(ms); }

}  // namespace acre::fake_os::kernel

// The C library's, for acre alone: a request like others.
extern "C" void* sbrk(intptr_t more) noexcept {
  using namespace acre::fake_os::kernel;
  static const auto real = reinterpret_cast<void* (*)(intptr_t)>(dlsym(RTLD_NEXT, "sbrk"));
  void* const refused = reinterpret_cast<void*>(-1);
  if (acre::g_kernel.load() == nullptr) return real(more);
  void* const end = may_extend() ? real(more) : refused;
  if (end != refused) note_extended(more);
  return end;
}

// acre asks the C library for the size of a page, once. A new image may have it from this variable.
extern "C" int getpagesize() noexcept {
  const char* bytes = getenv("ACRE_FAKE_OS_PAGE_BYTES");
  return bytes != nullptr ? atoi(bytes) : static_cast<int>(sysconf(_SC_PAGESIZE));
}
