#include "fiber.h"

#include <cstdint>
#include <cstdlib>

#if !defined(__x86_64__)
#error "the switch of stacks is written for x86-64"
#endif

// void switch_stacks(void** from, void* to): keeps the registers that a function must keep on the old stack.
asm(R"(
.text
.type interleave_switch_stacks, @function
interleave_switch_stacks:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp, (%rdi)
  mov %rsi, %rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  ret
.size interleave_switch_stacks, .-interleave_switch_stacks
)");
extern "C" void interleave_switch_stacks(void** from, void* to);

namespace interleave {

void Fiber::begin(void (*entry)()) {
  if (stack_ == nullptr) stack_ = static_cast<char*>(std::aligned_alloc(4096, kStackBytes));
  auto* top = reinterpret_cast<uintptr_t*>(stack_ + kStackBytes);
  *--top = 0;                                   // where `entry` would return to; keeps the stack aligned as after a call
  *--top = reinterpret_cast<uintptr_t>(entry);  // for `ret`
  for (int i = 0; i < 6; ++i) *--top = 0;
  stack_pointer_ = top;
}

void Fiber::change(Fiber& from, Fiber& to) { interleave_switch_stacks(&from.stack_pointer_, to.stack_pointer_); }

}  // namespace interleave
