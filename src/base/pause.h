// Waiting awake, for who has what is waited for only for a moment.
#pragma once

namespace acre {

inline constexpr int kSpins = 64;  // then it is time to sleep

inline void pause_processor() {
#if defined(__x86_64__)
  asm volatile("pause");
#elif defined(__aarch64__)
  asm volatile("isb");
#endif
}

}  // namespace acre
