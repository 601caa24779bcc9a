#include "os/linux_traced.h"

#include <elf.h>
#include <errno.h>
#include <linux/futex.h>
#include <linux/ptrace.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "base/syscall.h"
#include "os/os.h"
#include "os/unwind.h"

namespace acre::os {

namespace {

constexpr uint64_t kMostWaitMs = 1000;  // for one thread; one that waits for a vfork stops only after it
constexpr uint64_t kMostWaitForStepMs = 60000;
constexpr long kWakeUs = 100000;
constexpr unsigned kMostSteps = 4096;
constexpr long kMaskBytes = 8;  // of the kernel's signal masks

long trace(long request, int id, long address = 0, long data = 0) {
  return raw_syscall(SYS_ptrace, request, id, address, data);
}

// --- Registers -------------------------------------------------------------------------------------------------

size_t read_registers(int id, int set, void* to, size_t bytes) {
  struct iovec part = {to, bytes};
  return trace(PTRACE_GETREGSET, id, set, as_long(&part)) == 0 ? part.iov_len : 0;
}

#if defined(__x86_64__)
using FloatingRegisters = user_fpregs_struct;
constexpr int kVectorRegisters = NT_X86_XSTATE;  // with the upper parts of 256 and 512 bits
constexpr size_t kBytesOfVectorRegisters = 2696;  // enough for these; matrices follow
Address stack_pointer_of(const user_regs_struct& general) { return general.rsp; }
Address control_block_of(int, const user_regs_struct& general) { return general.fs_base; }
Address code_of(const user_regs_struct& general) { return general.rip; }
constexpr unsigned char kReturn[] = {0xc3};

// The registers of a system call that is the next instruction.
constexpr unsigned char kSystemCall[] = {0x0f, 0x05};
uint64_t number_of_call(const user_regs_struct& general) { return general.rax; }
uint64_t second_of_call(const user_regs_struct& general) { return general.rsi; }

// Whether the thread was interrupted in a system call, which the kernel begins again when the thread goes on. (On
// aarch64 the kernel has put it back to the instruction already.)
bool is_in_call(const user_regs_struct& general) {
  constexpr int64_t kRestartSystem = -512, kRestartBlock = -516;  // the kernel's own error numbers
  const auto result = static_cast<int64_t>(general.rax);
  return static_cast<int64_t>(general.orig_rax) >= 0 && result <= kRestartSystem && result >= kRestartBlock;
}

// Registers that a function leaves with values of its own, but for its result. Of the vector registers all are such.
constexpr bool kVectorsAreScratch = true;
void clear_scratch(user_regs_struct* general) {
  general->rcx = general->rsi = general->rdi = general->r8 = general->r9 = general->r10 = general->r11 = 0;
}
#elif defined(__aarch64__)
using FloatingRegisters = user_fpsimd_struct;
constexpr int kVectorRegisters = NT_PRFPREG;
constexpr size_t kBytesOfVectorRegisters = sizeof(FloatingRegisters);
Address stack_pointer_of(const user_regs_struct& general) { return general.sp; }
Address code_of(const user_regs_struct& general) { return general.pc; }
constexpr unsigned char kReturn[] = {0xc0, 0x03, 0x5f, 0xd6};
constexpr unsigned char kSystemCall[] = {0x01, 0x00, 0x00, 0xd4};
uint64_t number_of_call(const user_regs_struct& general) { return general.regs[8]; }
uint64_t second_of_call(const user_regs_struct& general) { return general.regs[1]; }
bool is_in_call(const user_regs_struct&) { return false; }
constexpr bool kVectorsAreScratch = false;
void clear_scratch(user_regs_struct* general) {
  constexpr unsigned kFirst = 2, kLast = 17;
  for (unsigned i = kFirst; i <= kLast; ++i) general->regs[i] = 0;
}
Address control_block_of(int id, const user_regs_struct&) {
  Address value = 0;
  read_registers(id, NT_ARM_TLS, &value, sizeof value);
  return value;
}
#else
using FloatingRegisters = __riscv_d_ext_state;
constexpr int kVectorRegisters = NT_PRFPREG;
constexpr size_t kBytesOfVectorRegisters = sizeof(FloatingRegisters);
Address stack_pointer_of(const user_regs_struct& general) { return general.sp; }
Address control_block_of(int, const user_regs_struct& general) { return general.tp; }
Address code_of(const user_regs_struct& general) { return general.pc; }
constexpr unsigned char kReturn[] = {0x82, 0x80};  // compressed
constexpr unsigned char kSystemCall[] = {0x73, 0x00, 0x00, 0x00};
uint64_t number_of_call(const user_regs_struct& general) { return general.a7; }
uint64_t second_of_call(const user_regs_struct& general) { return general.a1; }
bool is_in_call(const user_regs_struct& general) {
  constexpr int64_t kRestartSystem = -512, kRestartBlock = -516;
  const auto result = static_cast<int64_t>(general.a0);
  return result <= kRestartSystem && result >= kRestartBlock;
}
constexpr bool kVectorsAreScratch = false;
void clear_scratch(user_regs_struct* general) {
  general->t0 = general->t1 = general->t2 = general->t3 = general->t4 = general->t5 = general->t6 = 0;
  general->a2 = general->a3 = general->a4 = general->a5 = general->a6 = general->a7 = 0;
}
#endif

// --- Stopping --------------------------------------------------------------------------------------------------

// Waits until an interrupted thread has stopped. Returns 0, or the error number. wake_waits() ends the wait for a
// moment now and then.
int wait_for_stop(Traced* traced, uint64_t most_ms = kMostWaitMs) {
  for (const uint64_t end = now_ms() + most_ms; now_ms() < end;) {
    int status = 0;
    const long got = raw_syscall(SYS_wait4, traced->id, as_long(&status), __WALL, 0);
    if (got == -EINTR) continue;
    if (got < 0) return static_cast<int>(-got);
    if (!WIFSTOPPED(status)) return ESRCH;
    if (status >> 16 == 0) traced->signal = WSTOPSIG(status);
    traced->stopped = true;
    return 0;
  }
  return ETIMEDOUT;
}

// --- Stepping --------------------------------------------------------------------------------------------------

// Of system calls only those are gone through that wait for no other thread.
bool may_step(Traced* traced) {
  struct user_regs_struct general = {};
  if (read_registers(traced->id, NT_PRSTATUS, &general, sizeof general) == 0) return false;
  if (!is_own_code(code_of(general)) || is_in_call(general)) return false;
  traced->at_return = memcmp(pointer_to(code_of(general)), kReturn, sizeof kReturn) == 0;
  if (memcmp(pointer_to(code_of(general)), kSystemCall, sizeof kSystemCall) != 0) return true;
  switch (number_of_call(general)) {
    case SYS_madvise:
    case SYS_mmap:
    case SYS_munmap: return true;
    case SYS_futex: return (second_of_call(general) & FUTEX_CMD_MASK) == FUTEX_WAKE;
    default: return false;
  }
}

// Waits for the end of a step. Returns false if the thread has stopped for another reason, or not at all.
bool finish_step(Traced* traced, uint64_t most_ms) {
  const int error = wait_for_stop(traced, most_ms);
  traced->stepping = error == ETIMEDOUT;
  if (error != 0 || traced->signal != SIGTRAP) return false;
  siginfo_t info = {};
  trace(PTRACE_GETSIGINFO, traced->id, 0, as_long(&info));
  if (info.si_code != TRAP_TRACE && info.si_code != TRAP_BRKPT) return false;  // BRKPT: after a system call
  traced->signal = 0;
  return true;
}

bool step(Traced* traced) {
  if (trace(PTRACE_SINGLESTEP, traced->id) != 0) return false;
  traced->stopped = false;
  if (finish_step(traced, kMostWaitMs)) return true;
  if (traced->stepping && trace(PTRACE_INTERRUPT, traced->id) == 0) finish_step(traced, kMostWaitMs);
  return false;
}

// If a thread ignores or blocks the trap after a step, the kernel takes the program's handler away.
bool is_trap_ignored() {
  struct sigaction action = {};
  return sigaction(SIGTRAP, nullptr, &action) != 0 || action.sa_handler == SIG_IGN;
}

}  // namespace

void leave_own_code(Traced* traced) {
  uint64_t mask = 0;
  if (traced->signal != 0 || !may_step(traced) || is_trap_ignored()) return;
  if (trace(PTRACE_GETSIGMASK, traced->id, kMaskBytes, as_long(&mask)) != 0) return;
  const uint64_t open = mask & ~(uint64_t{1} << (SIGTRAP - 1));
  if (trace(PTRACE_SETSIGMASK, traced->id, kMaskBytes, as_long(&open)) != 0) return;
  bool inside = true;
  for (unsigned steps = 0; inside && steps < kMostSteps && step(traced); ++steps) inside = may_step(traced);
  traced->returned = !inside && traced->at_return;
  trace(PTRACE_SETSIGMASK, traced->id, kMaskBytes, as_long(&mask));
}

void wake_waits() {
  struct sigaction action = {};
  action.sa_handler = [](int) {};
  sigaction(SIGALRM, &action, nullptr);
  const uint64_t alarm = uint64_t{1} << (SIGALRM - 1);
  raw_syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, as_long(&alarm), 0, kMaskBytes);
  const struct itimerval time = {{0, kWakeUs}, {0, kWakeUs}};
  raw_syscall(SYS_setitimer, ITIMER_REAL, as_long(&time));
}

int stop_thread(Traced* traced) {
  long error = trace(PTRACE_SEIZE, traced->id);
  if (error == 0) error = trace(PTRACE_INTERRUPT, traced->id);
  return error != 0 ? static_cast<int>(-error) : wait_for_stop(traced);
}

void release_thread(Traced* traced) {
  if (traced->stepping) finish_step(traced, kMostWaitForStepMs);
  if (traced->stopped) trace(PTRACE_DETACH, traced->id, 0, traced->signal);
}

// After a return acre's addresses of runs are still in registers, and would lead to blocks.
void read_state(const Traced& traced, ThreadState* state) {
  const int id = traced.id;
  constexpr size_t kMostBytes = sizeof(user_regs_struct) + larger(kBytesOfVectorRegisters, sizeof(FloatingRegisters));
  static_assert(kMostBytes / sizeof(Address) <= ThreadState::kMostWords);
  struct user_regs_struct general = {};
  state->id = id;
  state->words = read_registers(id, NT_PRSTATUS, &general, sizeof general) / sizeof(Address);
  if (traced.returned) clear_scratch(&general);
  memcpy(state->word, &general, state->words * sizeof(Address));
  state->stack_pointer = stack_pointer_of(general);
  state->control_block = control_block_of(id, general);
  if (traced.returned && kVectorsAreScratch) return;
  Address* const rest = state->word + state->words;
  size_t bytes = read_registers(id, kVectorRegisters, rest, kBytesOfVectorRegisters);
  if (bytes == 0) bytes = read_registers(id, NT_PRFPREG, rest, sizeof(FloatingRegisters));
  state->words += bytes / sizeof(Address);
}

}  // namespace acre::os
