#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <linux/futex.h>
#include <linux/mman.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "base/syscall.h"
#include "base/text.h"
#include "os/linux_calls.h"
#include "os/linux_library.h"
#include "os/os.h"

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif
#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef PR_SET_VMA_ANON_NAME
#define PR_SET_VMA_ANON_NAME 0
#endif

namespace acre::os {

constinit std::atomic<uint64_t> g_calls[kCallCount];

namespace {

void* as_pointer(long result) { return failed(result) ? nullptr : reinterpret_cast<void*>(result); }


#if ACRE_TESTING
std::atomic<long> g_requests{0};
std::atomic<long> g_refuse_from{-1}, g_refuse_to{-1};
#endif

// A word at the destination of a move tells afterwards whether the kernel has unmapped it. The kernel itself reads the
// word: by then nothing may be mapped there. With too many mappings, and other refusals, it has changed nothing.
uint32_t mark_of(const void* to) { return 0x61637265 ^ static_cast<uint32_t>(address_of(to) >> kPageShift); }

bool has_mark(const void* to) {
  const struct timespec at_once = {};
  return raw_syscall(SYS_futex, as_long(to), FUTEX_WAIT_PRIVATE, static_cast<long>(mark_of(to)), as_long(&at_once)) ==
         -ETIMEDOUT;
}

Move move(void* from, size_t old_bytes, size_t bytes, int flags, void* to) {
  static_cast<std::atomic<uint32_t>*>(to)->store(mark_of(to), std::memory_order_relaxed);
  const long result = counted(kMremap, as_long(from), static_cast<long>(old_bytes), static_cast<long>(bytes),
                              MREMAP_MAYMOVE | MREMAP_FIXED | flags, as_long(to));
  if (!failed(result)) return Move::kDone;
  return has_mark(to) ? Move::kRefused : Move::kFailed;
}

std::atomic<uint64_t> g_refused_memory{0}, g_refused_purges{0};
std::atomic<int> g_purge_error{0};

// Counts the refusal, if this result of a request is one.
long noted(long result) {
  if (failed(result) && result != -EEXIST) g_refused_memory.fetch_add(1, std::memory_order_relaxed);
  return result;
}

constinit std::atomic<bool> g_naming{false};

void name(long start, size_t bytes, MappingUse use) {
  const char* name = use == MappingUse::kHeap ? "acre:heap" : "acre:internal";
  const long result = raw_syscall(SYS_prctl, PR_SET_VMA, PR_SET_VMA_ANON_NAME, start, static_cast<long>(bytes),
                                  as_long(name));
  if (result == -EINVAL) g_naming.store(false, std::memory_order_relaxed);  // before 5.17, or built without names
}

void* map_with(Address hint, size_t bytes, int protection, int extra_flags, MappingUse use) {
  if (!testing::granted()) return as_pointer(noted(-ENOMEM));
  const long start = noted(counted(kMmap, static_cast<long>(hint), static_cast<long>(bytes), protection,
                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | extra_flags, -1, 0));
  if (g_naming.load(std::memory_order_relaxed) && !failed(start)) name(start, bytes, use);
  return as_pointer(start);
}

}  // namespace

void name_mappings() { g_naming.store(true, std::memory_order_relaxed); }

void* map(size_t bytes, MappingUse use) { return map_with(0, bytes, PROT_READ | PROT_WRITE, 0, use); }

void* map_at(Address address, size_t bytes) {
  void* p = map_with(address, bytes, PROT_READ | PROT_WRITE, MAP_FIXED_NOREPLACE, MappingUse::kHeap);
  if (p != nullptr && address_of(p) != address) {  // a kernel before 4.17 takes the address as a hint
    unmap(p, bytes);
    return nullptr;
  }
  return p;
}

void* reserve(size_t bytes) { return map_with(0, bytes, PROT_NONE, 0, MappingUse::kInternal); }

static bool protect(void* start, size_t bytes, int protection) {
  if (!testing::granted()) return noted(-ENOMEM) == 0;
  return noted(counted(kMprotect, as_long(start), static_cast<long>(bytes), protection)) == 0;
}

bool commit(void* start, size_t bytes) { return protect(start, bytes, PROT_READ | PROT_WRITE); }

ACRE_COLD bool commit_to_read(void* start, size_t bytes) { return protect(start, bytes, PROT_READ); }

ACRE_COLD bool uncommit(void* start, size_t bytes) {
  return map_with(address_of(start), bytes, PROT_NONE, MAP_FIXED, MappingUse::kInternal) != nullptr;
}

bool unmap(void* start, size_t bytes) {
  return counted(kMunmap, as_long(start), static_cast<long>(bytes)) == 0 ||
         counted(kMadvise, as_long(start), static_cast<long>(bytes), MADV_DONTNEED) == 0;
}

bool grow_in_place(void* start, size_t old_bytes, size_t new_bytes) {
  if (!testing::granted()) return false;
  return !failed(counted(kMremap, as_long(start), static_cast<long>(old_bytes),
                             static_cast<long>(new_bytes), 0));
}

ACRE_APART Move move_mapping(void* start, size_t old_bytes, size_t new_bytes, void* to) {
  if (!testing::granted()) return Move::kRefused;
  return move(start, old_bytes, new_bytes, 0, to);
}

ACRE_APART Move move_pages(void* from, void* to, size_t bytes) {
  return move(from, bytes, bytes, MREMAP_DONTUNMAP, to);
}

ACRE_APART bool purge(void* start, size_t bytes) {
  Address first = align_up(address_of(start), page_bytes());
  Address end = align_down(address_of(start) + bytes, page_bytes());
  if (first < end) {
    const long result = counted(kMadvise, static_cast<long>(first), static_cast<long>(end - first), MADV_DONTNEED);
    if (result != 0) {
      g_refused_purges.fetch_add(1, std::memory_order_relaxed);
      g_purge_error.store(static_cast<int>(-result), std::memory_order_relaxed);
      return false;
    }
  }
  // If the OS page is larger than acre's, neighbours share the pages at the ends.
  const Address limit = address_of(start) + bytes;
  if (first >= limit || first > end) {
    memset(start, 0, bytes);
  } else {
    memset(start, 0, first - address_of(start));
    memset(pointer_to(end), 0, limit - end);
  }
  return true;
}

ACRE_APART bool purge_lazily(void* start, size_t bytes) {
  const Address first = align_up(address_of(start), page_bytes());
  const Address end = align_down(address_of(start) + bytes, page_bytes());
  return first >= end || counted(kMadvise, static_cast<long>(first), static_cast<long>(end - first),
                                     MADV_FREE) == 0;
}

// sbrk, not the system call: the C library records where the segment ends.
void* extend_data_segment(size_t bytes, size_t alignment) {
  if (!testing::granted()) return nullptr;
  const int saved_errno = errno;
  const size_t room = bytes + alignment - 1;
  void* start = room <= PTRDIFF_MAX ? sbrk(static_cast<intptr_t>(room)) : reinterpret_cast<void*>(-1);
  errno = saved_errno;
  if (start == reinterpret_cast<void*>(-1)) return nullptr;
  return pointer_to(align_up(address_of(start), alignment));
}

void avoid_huge_pages(void* start, size_t bytes) {
  counted(kMadvise, as_long(start), static_cast<long>(bytes), MADV_NOHUGEPAGE);
}

Calls calls() {
  const auto of = [](Call call) { return g_calls[call].load(std::memory_order_relaxed); };
  return {of(kMmap), of(kMunmap), of(kMprotect), of(kMremap), of(kMadvise)};
}

void prefer_huge_pages(void* start, size_t bytes) {
  counted(kMadvise, as_long(start), static_cast<long>(bytes), MADV_HUGEPAGE);
}

bool populate_huge_page(void* page) {
  if (!testing::granted()) return false;
  prefer_huge_pages(page, kHugePageBytes);
  const bool done = counted(kMadvise, as_long(page), kHugePageBytes, MADV_POPULATE_WRITE) == 0;
  avoid_huge_pages(page, kHugePageBytes);
  return done;
}

size_t page_bytes() {
  static std::atomic<size_t> cached{0};
  size_t bytes = cached.load(std::memory_order_relaxed);
  if (bytes == 0) {
    bytes = static_cast<size_t>(getpagesize());
    cached.store(bytes, std::memory_order_relaxed);
  }
  return bytes;
}

// Asked for when a thread starts, and so not beside what is seldom needed (linux_threads.cc).
uint64_t thread_number() { return static_cast<uint64_t>(raw_syscall(SYS_gettid)); }

// A system call will do, and imports no symbol: a thread asks twice in its life.
unsigned processor() {
  unsigned number = 0;
  return raw_syscall(SYS_getcpu, reinterpret_cast<long>(&number)) == 0 ? number : 0;
}

unsigned processors() {
  unsigned long mask[128] = {};  // 8192 processors
  long bytes = raw_syscall(SYS_sched_getaffinity, 0, sizeof mask, as_long(mask));
  unsigned count = 0;
  for (long i = 0; i < bytes / static_cast<long>(sizeof mask[0]); ++i) {
    count += static_cast<unsigned>(__builtin_popcountl(mask[i]));
  }
  return count == 0 ? 1 : count;
}

// A multiplication to 128 bits and a fold, twice (after wyhash, Wang Yi, 2019).
static uint64_t mix(uint64_t a, uint64_t b) {
  for (int round = 0; round < 2; ++round) {
    const auto product = static_cast<unsigned __int128>(a ^ 0xe7037ed1a0b428db) * (b ^ 0xa0761d6478bd642f);
    a = static_cast<uint64_t>(product);
    b = static_cast<uint64_t>(product >> 64);
  }
  return a ^ b;
}

Secrets secrets() {
  uint64_t random[2] = {};
  const void* bytes = pointer_to(getauxval(AT_RANDOM));
  if (bytes != nullptr && (raw_syscall(SYS_personality, 0xffffffff) & ADDR_NO_RANDOMIZE) == 0) memcpy(random, bytes, sizeof random);
  const auto secret = [&random](uint64_t use) { return mix(random[0] ^ (use << 32), random[1] + use); };
  return {secret(1), secret(2), secret(3), getauxval(AT_PHDR)};
}

size_t physical_memory() {
  struct sysinfo info;
  if (raw_syscall(SYS_sysinfo, as_long(&info)) != 0) return 0;
  return static_cast<size_t>(info.totalram) * info.mem_unit;
}

ACRE_COLD bool has_huge_pages() {
  char text[64] = {};
  const long size = read_file("/sys/kernel/mm/transparent_hugepage/enabled", text, sizeof text - 1);
  if (size <= 0 || strstr(text, "[never]") != nullptr) return false;
  memset(text, 0, sizeof text);
  const long page = read_file("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size", text, sizeof text - 1);
  if (page <= 0 || strtoul(text, nullptr, 10) != kHugePageBytes) return false;
  return raw_syscall(SYS_prctl, PR_GET_THP_DISABLE, 0, 0, 0, 0) == 0;
}

static size_t limit_of(int resource) {
  struct rlimit limit;
  if (raw_syscall(SYS_prlimit64, 0, resource, 0, as_long(&limit)) != 0) return SIZE_MAX;
  return limit.rlim_cur == RLIM_INFINITY ? SIZE_MAX : static_cast<size_t>(limit.rlim_cur);
}

size_t address_space_limit() { return limit_of(RLIMIT_AS); }

size_t data_limit() { return limit_of(RLIMIT_DATA); }

bool commits_strictly() {
  char mode = '0';
  read_file("/proc/sys/vm/overcommit_memory", &mode, sizeof mode);
  return mode == '2';
}

Refusals refusals() { return {g_refused_memory.load(), g_refused_purges.load(), g_purge_error.load()}; }

void find_clock() {
#if defined(__aarch64__)
  constexpr char kName[] = "__kernel_clock_gettime";
#else
  constexpr char kName[] = "__vdso_clock_gettime";
#endif
  g_clock_function.store(reinterpret_cast<ClockFunction>(find_in_kernel_library(kName)), std::memory_order_relaxed);
}

uint64_t now_ms() { return nanoseconds_of(CLOCK_MONOTONIC_COARSE) / 1000000; }
uint64_t now_ns() { return nanoseconds_of(CLOCK_MONOTONIC); }
uint64_t thread_ns() { return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID); }
uint64_t wall_clock_ns() { return nanoseconds_of(CLOCK_REALTIME); }

ACRE_COLD size_t resident_bytes() {
  char text[128];
  const long size = read_file("/proc/thread-self/statm", text, sizeof text - 1);
  if (size <= 0) return 0;
  text[size] = '\0';
  const char* at = text;
  while (*at >= '0' && *at <= '9') ++at;  // total pages
  while (*at == ' ') ++at;
  size_t pages = 0;
  for (; *at >= '0' && *at <= '9'; ++at) pages = pages * 10 + static_cast<size_t>(*at - '0');
  return pages * page_bytes();
}

Faults faults() {
  struct rusage usage;
  if (raw_syscall(SYS_getrusage, RUSAGE_SELF, as_long(&usage)) != 0) return {};
  return {static_cast<uint64_t>(usage.ru_minflt), static_cast<uint64_t>(usage.ru_majflt)};
}

long read_link(const char* path, char* buffer, size_t capacity) {
  const long size = raw_syscall(SYS_readlinkat, AT_FDCWD, as_long(path), as_long(buffer), static_cast<long>(capacity));
  return size == -EINVAL ? kNoLink : size;
}

#if ACRE_TESTING
namespace testing {
bool granted() {
  long number = g_requests.fetch_add(1);
  return number < g_refuse_from.load() || number >= g_refuse_to.load() || g_refuse_from.load() < 0;
}
void refuse_requests(long allowed, long refused) {
  g_refuse_from.store(g_requests.load() + allowed);
  g_refuse_to.store(g_requests.load() + allowed + refused);
}
void refuse_nothing() { g_refuse_from.store(-1); }
long requests_made() { return g_requests.load(); }
}  // namespace testing
#endif

}  // namespace acre::os
