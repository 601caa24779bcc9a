// Kernels that refuse to move pages, and have unmapped the destination by then: before 6.17 mremap does so when
// the pages lie in several mappings of its own, as they do after an earlier move, or when the program has called
// madvise or mlock on a part of a block.
//
// And kernels that know no MADV_FREE, or refuse any advice, as every kernel does for locked memory.
//
// And kernels that know names of mappings, or do not.
//
// A seccomp filter refuses the advice, and turns each mremap into a signal, whose handler plays such a kernel.
//
// And a process that has all the mappings that it may have: the kernel refuses to split one.
#include <gtest/gtest.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <thread>
#include <vector>

#include "../unit/support.h"
#include "acre/acre.h"
#include "blocks.h"
#include "child.h"
#include "pages/limit.h"

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif
#ifndef SYS_SECCOMP
#define SYS_SECCOMP 1
#endif

namespace acre::fake_os {
namespace {

struct Call {
  long from, old_size, new_size, flags, to;
  void answer(long result) const;
  ucontext_t* context;
};

#if defined(__x86_64__)
Call call_of(ucontext_t* context) {
  const greg_t* r = context->uc_mcontext.gregs;
  return {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], context};
}
void Call::answer(long result) const { context->uc_mcontext.gregs[REG_RAX] = result; }
#elif defined(__riscv)
Call call_of(ucontext_t* context) {
  const auto* r = context->uc_mcontext.__gregs + REG_A0;
  return {static_cast<long>(r[0]), static_cast<long>(r[1]), static_cast<long>(r[2]), static_cast<long>(r[3]),
          static_cast<long>(r[4]), context};
}
void Call::answer(long result) const {
  context->uc_mcontext.__gregs[REG_A0] = static_cast<unsigned long>(result);
}
#else
Call call_of(ucontext_t* context) {
  const auto* r = context->uc_mcontext.regs;
  return {static_cast<long>(r[0]), static_cast<long>(r[1]), static_cast<long>(r[2]), static_cast<long>(r[3]),
          static_cast<long>(r[4]), context};
}
void Call::answer(long result) const { context->uc_mcontext.regs[0] = static_cast<unsigned long>(result); }
#endif

// What the program's other threads map into the hole meanwhile.
bool g_somebody_takes_the_hole = false;
void* g_theirs[64];
unsigned g_theirs_count = 0;
volatile unsigned g_moves = 0;

void take_the_hole(long at) {
  void* theirs = mmap(pointer_to(static_cast<Address>(at)), kPageBytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  if (theirs == MAP_FAILED || g_theirs_count == 64) return;
  *static_cast<char*>(theirs) = 42;
  g_theirs[g_theirs_count++] = theirs;
}

void play_mremap(int, siginfo_t*, void* context) {
  const int saved = errno;
  const Call call = call_of(static_cast<ucontext_t*>(context));
  if ((call.flags & MREMAP_FIXED) != 0) {
    g_moves = g_moves + 1;
    munmap(pointer_to(static_cast<Address>(call.to)), static_cast<size_t>(call.new_size));
    if (g_somebody_takes_the_hole) take_the_hole(call.to);
    call.answer(-EFAULT);
  } else if (call.new_size <= call.old_size) {
    const size_t rest = static_cast<size_t>(call.old_size - call.new_size);
    if (rest != 0) munmap(pointer_to(static_cast<Address>(call.from + call.new_size)), rest);
    call.answer(call.from);
  } else {
    call.answer(-EFAULT);
  }
  errno = saved;
}

// A kernel that takes its time over a madvise.
std::atomic<bool> g_at_madvise{false};
Address g_purged = 0;

void play_madvise(int, siginfo_t*, void* context) {
  const int saved = errno;
  const Call call = call_of(static_cast<ucontext_t*>(context));
  if (static_cast<Address>(call.from) == g_purged) {  // and not a thread's stack
    g_at_madvise = true;
    usleep(50000);
    memset(pointer_to(g_purged), 0, static_cast<size_t>(call.old_size));
  }
  call.answer(0);
  errno = saved;
}

// A kernel that notes the names of mappings, or knows none.
struct Named {
  Address start, end;
  char name[16];
};
Named g_named[256];
unsigned g_named_count = 0;
bool g_knows_names = true;

void play_prctl(int, siginfo_t*, void* context) {
  const Call call = call_of(static_cast<ucontext_t*>(context));  // from: the option; new_size: the start; then its bytes
  if (call.from == PR_SET_VMA && g_named_count != 256) {
    Named& named = g_named[g_named_count++];
    named.start = static_cast<Address>(call.new_size);
    named.end = named.start + static_cast<Address>(call.flags);
    strncpy(named.name, reinterpret_cast<const char*>(call.to), sizeof named.name - 1);
  }
  call.answer(g_knows_names ? 0 : -EINVAL);
}

// Null: nothing there has a name.
const char* name_of(const void* block) {
  for (unsigned i = g_named_count; i-- != 0;) {
    if (g_named[i].start <= address_of(block) && address_of(block) < g_named[i].end) return g_named[i].name;
  }
  return nullptr;
}

// False where the sandbox this runs in does not allow it.
bool play_kernel(unsigned number = SYS_mremap, void (*handler)(int, siginfo_t*, void*) = play_mremap) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  struct sigaction action = {};
  action.sa_sigaction = handler;
  action.sa_flags = SA_SIGINFO;
  return sigaction(SIGSYS, &action, nullptr) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// Blocks of all sizes, and of a manual arena, until arenas and acre's own tables have grown.
void name_all_mappings() {
  if (!play_kernel(SYS_prctl, play_prctl)) return;
  os::name_mappings();
  void* huge = acre_malloc(100 * kMiB);
  FAKE_OS_CHECK(name_of(huge) != nullptr && strcmp(name_of(huge), "acre:heap") == 0);
  huge = acre_realloc(huge, 70 * kMiB);
  FAKE_OS_CHECK(name_of(huge) != nullptr && strcmp(name_of(huge), "acre:heap") == 0);
  void* aligned = acre_aligned_alloc(kMiB << 7, 100 * kMiB);
  FAKE_OS_CHECK(name_of(aligned) != nullptr && strcmp(name_of(aligned), "acre:heap") == 0);
  unsigned unnamed = 0;
  for (int i = 0; i < 100; ++i) unnamed += name_of(acre_malloc(5 * kMiB)) == nullptr;
  FAKE_OS_CHECK(unnamed < 5);  // those of the chunk that was there before
  for (int i = 0; i < 50000; ++i) FAKE_OS_CHECK(acre_malloc(2048) != nullptr);
  unsigned internal = 0;
  for (unsigned i = 0; i < g_named_count; ++i) {
    const bool is_internal = strcmp(g_named[i].name, "acre:internal") == 0;
    FAKE_OS_CHECK(is_internal || strcmp(g_named[i].name, "acre:heap") == 0);
    internal += is_internal;
  }
  FAKE_OS_CHECK(internal != 0 && g_named_count < 256);
}

void name_nothing() {
  g_knows_names = false;
  if (!play_kernel(SYS_prctl, play_prctl)) return;
  os::name_mappings();
  for (int i = 0; i < 10; ++i) FAKE_OS_CHECK(acre_malloc(100 * kMiB) != nullptr);
  FAKE_OS_CHECK(g_named_count == 1);
}

TEST(Kernels, MappingsHaveOneOfTwoNames) { EXPECT_EQ(in_child(name_all_mappings), ""); }

TEST(Kernels, AKernelWithoutNamesIsAskedOnce) { EXPECT_EQ(in_child(name_nothing), ""); }

// Large and huge blocks grow and shrink; then all memory that acre believes to have is used.
void grow_and_use_everything() {
  if (!play_kernel()) return;
  Blocks blocks;
  for (int i = 0; i < 4; ++i) blocks.allocate(5 * kMiB);
  for (size_t size = 9 * kMiB; size < 300 * kMiB; size = size * 9 / 5) {
    for (size_t i = 0; i < blocks.count(); ++i) FAKE_OS_CHECK(blocks.resize(i, size));
  }
  for (size_t i = 0; i < blocks.count(); ++i) FAKE_OS_CHECK(blocks.resize(i, 50 * kMiB));
  for (int i = 0; i < 60; ++i) FAKE_OS_CHECK(blocks.allocate(3 * kMiB) != nullptr);
  for (int i = 0; i < 60; ++i) FAKE_OS_CHECK(blocks.allocate_zeroed(kMiB) != nullptr);
  for (int i = 0; i < 2000; ++i) FAKE_OS_CHECK(blocks.allocate(20000) != nullptr);
  blocks.free_all();
  for (unsigned i = 0; i < g_theirs_count; ++i) {
    FAKE_OS_CHECK(*static_cast<char*>(g_theirs[i]) == 42);
  }
}

// From now on the kernel answers EINVAL to this advice, or to all. False where that is not allowed.
enum : unsigned { kAllAdvice = ~0u };
bool refuse_advice(unsigned advice) {
  const unsigned all = advice == kAllAdvice;
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_madvise, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[2])),  // little-endian: its lower half
      BPF_JUMP(BPF_JMP | (all ? BPF_JGE : BPF_JEQ) | BPF_K, all ? 0 : advice, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EINVAL),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// 100 dirty pages that decay: to muzzy ones, if the kernel lets them.
PageHeap& decayed_heap() {
  PageHeap& heap = test::new_page_heap();
  heap.set_dirty_decay_ms(100);
  heap.set_muzzy_decay_ms(-1);
  heap.decay(1000);
  PageRun* run = heap.allocate(100, 1);
  memset(pointer_to(run->base), 1, run->bytes());
  heap.free(run, true);
  for (uint64_t now = 1000; now <= 1200; ++now) heap.decay(now);
  return heap;
}

void decay_without_madv_free() {
  if (!refuse_advice(MADV_FREE)) return;
  PageHeap& heap = decayed_heap();
  FAKE_OS_CHECK(heap.counts().dirty == 0);
  FAKE_OS_CHECK(heap.counts().muzzy == 0);
  FAKE_OS_CHECK(heap.counts().purged == 100);
  PageRun* run = heap.allocate(100, 1);
  FAKE_OS_CHECK(!run->fresh || test::all_zero(pointer_to(run->base), run->bytes()));
}

void decay_without_madvise() {
  if (!refuse_advice(kAllAdvice)) return;
  PageHeap& heap = decayed_heap();
  FAKE_OS_CHECK(heap.counts().dirty == 100);
  FAKE_OS_CHECK(heap.counts().purged == 0);
  FAKE_OS_CHECK(heap.purge_to(0) == 0);
  FAKE_OS_CHECK(test::pages_add_up(heap.counts()));
  const uint64_t next = heap.next_decay(1200);
  FAKE_OS_CHECK(next >= 2200 && next != kNever);  // no haste
  FAKE_OS_CHECK(!heap.allocate_free(100, 1, true)->fresh);
}

TEST(Kernels, WithoutMadvFreePagesAreCleanAtOnce) { EXPECT_EQ(in_child(decay_without_madv_free), ""); }

TEST(Kernels, WithoutMadvisePagesStayDirty) { EXPECT_EQ(in_child(decay_without_madvise), ""); }

TEST(Kernels, ARefusedMoveLeavesAHole) {
  EXPECT_EQ(in_child(grow_and_use_everything), "");
}

TEST(Kernels, ARefusedMoveLeavesAHoleThatSomebodyTakes) {
  g_somebody_takes_the_hole = true;
  EXPECT_EQ(in_child(grow_and_use_everything), "");
  g_somebody_takes_the_hole = false;
}

// Pages that another thread is just giving back are nobody's for that time. With no other memory to be had, a request
// has to wait for them.
void ask_during_a_purge() {
  constexpr size_t kSize = 2 * kMiB;
  void* first = acre_malloc(kSize);
  memset(first, 1, kSize);
  g_purged = address_of(first);
  void* rest[64];
  size_t count = 0;
  os::testing::refuse_requests(0, 1000000000);
  while (void* block = acre_malloc(kSize)) rest[count++] = block;
  acre_free(first);
  if (!play_kernel(SYS_madvise, play_madvise)) return;
  std::thread([] {
    acre_malloc_trim(0);
    for (;;) pause();  // at a thread's end libc calls madvise with all signals blocked
  }).detach();
  while (!g_at_madvise) usleep(1000);
  first = acre_malloc(kSize);
  FAKE_OS_CHECK(first != nullptr);
  acre_free(first);
  while (count != 0) acre_free(rest[--count]);
}

// Makes mappings of a page, no two neighbours alike, until the kernel refuses one.
void use_up_mappings() {
  for (unsigned i = 0;; ++i) {
    const int protection = i % 2 == 0 ? PROT_NONE : PROT_READ;
    if (mmap(nullptr, kPageBytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) return;
  }
}

// Two blocks lie in one mapping. So the end of the first can't be unmapped without one more. A copy would not be within the
// hard limit.
void shrink_without_a_mapping_left() {
  constexpr size_t kBytes = 200 * kMiB, kLess = 150 * kMiB;
  FAKE_OS_CHECK(acre_malloc(kBytes) != nullptr);  // the next one lies below, as a rule
  auto* block = static_cast<unsigned char*>(acre_malloc(kBytes));
  // The mapping goes on behind the block, so that the kernel has to split it. Where something else lies there already, as
  // another mapping of acre's may, that is the same to the kernel.
  mmap(block + kBytes, kMiB, PROT_READ | PROT_WRITE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  memset(block, 7, kBytes);
  limit::set_hard(limit::held() + 50 * kMiB);
  const size_t held = limit::held();
  const uint64_t refusals = limit::refusals();
  use_up_mappings();
  FAKE_OS_CHECK(munmap(block + kLess, kBytes - kLess) == -1);
  FAKE_OS_CHECK(acre_realloc(block, kLess) == block);
  FAKE_OS_CHECK(limit::held() == held - (kBytes - kLess));
  FAKE_OS_CHECK(limit::refusals() == refusals);
  FAKE_OS_CHECK(acre_malloc_usable_size(block) == kLess);
  FAKE_OS_CHECK(block[0] == 7 && memcmp(block, block + 1, kLess - 1) == 0);
  unsigned char resident[(kBytes - kLess) / kPageBytes];
  FAKE_OS_CHECK(mincore(block + kLess, kBytes - kLess, resident) == 0);
  FAKE_OS_CHECK(test::all_zero(resident, sizeof resident));
  acre_free(block);
  FAKE_OS_CHECK(limit::held() <= held - kBytes);
}

TEST(Kernels, WithoutAMappingLeftAHugeBlockShrinksInPlace) {
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
  GTEST_SKIP() << "AddressSanitizer needs mappings itself";
#endif
#endif
  EXPECT_EQ(in_child(shrink_without_a_mapping_left), "");
}

TEST(Kernels, WhatIsBeingPurgedIsWaitedFor) { EXPECT_EQ(in_child(ask_during_a_purge), ""); }

}  // namespace
}  // namespace acre::fake_os
