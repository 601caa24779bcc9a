#include <signal.h>
#include <ucontext.h>

#include "os/fault.h"

namespace acre::os {

namespace {

const ucontext_t& of(const void* context) { return *static_cast<const ucontext_t*>(context); }

}  // namespace

#if defined(__x86_64__)

Access access_at_fault(const void* context) {
  constexpr long kIsWrite = 2;  // of a page fault's error code
  return (of(context).uc_mcontext.gregs[REG_ERR] & kIsWrite) != 0 ? Access::kWrite : Access::kRead;
}
Address code_at_fault(const void* context) { return static_cast<Address>(of(context).uc_mcontext.gregs[REG_RIP]); }

#elif defined(__aarch64__)

// The syndrome register is in a record behind the registers.
Access access_at_fault(const void* context) {
  constexpr uint64_t kIsWrite = 1 << 6;
  const auto& registers = of(context).uc_mcontext;
  const auto* at = reinterpret_cast<const char*>(registers.__reserved);
  const char* const end = at + sizeof registers.__reserved;
  while (end - at >= static_cast<long>(sizeof(esr_context))) {
    const auto* record = reinterpret_cast<const _aarch64_ctx*>(at);
    if (record->magic == ESR_MAGIC) {
      const uint64_t syndrome = reinterpret_cast<const esr_context*>(at)->esr;
      return (syndrome & kIsWrite) != 0 ? Access::kWrite : Access::kRead;
    }
    if (record->magic == 0 || record->size == 0) break;
    at += record->size;
  }
  return Access::kUnknown;
}
Address code_at_fault(const void* context) { return of(context).uc_mcontext.pc; }

#elif defined(__riscv)

// The kernel does not tell the cause of the fault, which says whether it was a write.
Access access_at_fault(const void*) { return Access::kUnknown; }
Address code_at_fault(const void* context) { return of(context).uc_mcontext.__gregs[REG_PC]; }

#endif

bool has_stack_for_report(const void* context) {
  constexpr size_t kNeeded = 16 << 10;
  const stack_t& stack = of(context).uc_stack;
  const Address here = reinterpret_cast<Address>(__builtin_frame_address(0));
  const size_t above = here - reinterpret_cast<Address>(stack.ss_sp);
  return stack.ss_size == 0 || above >= stack.ss_size || above >= kNeeded;
}

}  // namespace acre::os
