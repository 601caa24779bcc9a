// For short waits without sleep.
#pragma once

namespace acre {

inline constexpr int kSpins = 64;  // after as many pauses a thread sleeps

inline void pause_processor() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#elif defined(__riscv)
  asm volatile(".insn i 0x0f, 0, x0, x0, 0x10");  // pause: older assemblers do not know the word
#endif
}

}  // namespace acre
