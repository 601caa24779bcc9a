// Raw system calls: they keep errno, do not allocate, are no cancellation points, and cannot be interposed.
#pragma once

#if ACRE_TESTING
#include <atomic>
#endif

#include <sys/syscall.h>

#if !defined(__linux__)
#error "acre runs on Linux"
#endif

namespace acre {

// Returns the result, or -errno.
inline long kernel_syscall(long number, long a, long b, long c, long d, long e, long f) {
#if defined(__x86_64__)
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  register long r9 asm("r9") = f;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  register long x5 asm("x5") = f;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
  return x0;
#elif defined(__riscv) && __riscv_xlen == 64
  register long a7 asm("a7") = number;
  register long a0 asm("a0") = a;
  register long a1 asm("a1") = b;
  register long a2 asm("a2") = c;
  register long a3 asm("a3") = d;
  register long a4 asm("a4") = e;
  register long a5 asm("a5") = f;
  asm volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3), "r"(a4), "r"(a5) : "memory");
  return a0;
#else
#error "acre knows the system call convention of x86-64, aarch64 and riscv64"
#endif
}

#if ACRE_TESTING
// Answers all system calls in the kernel's place. Null: the kernel does.
using Kernel = long (*)(long number, const long (&arguments)[6]);
inline constinit std::atomic<Kernel> g_kernel{nullptr};
#endif

inline long raw_syscall(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0, long f = 0) {
#if ACRE_TESTING
  if (const Kernel kernel = g_kernel.load(std::memory_order_relaxed)) return kernel(number, {a, b, c, d, e, f});
#endif
  return kernel_syscall(number, a, b, c, d, e, f);
}

constexpr bool failed(long result) { return result < 0 && result > -4096; }

inline long as_long(const void* argument) { return reinterpret_cast<long>(argument); }

}  // namespace acre
