// The functions that -fsanitize=thread has compilers call, as gcc and clang name them: each tells the engine.
//
// Accesses of 16 bytes and more at once are plain ones in the code under test.
#include <cstdint>
#include <cstring>

#include "accesses.h"

using namespace interleave;

#define HERE reinterpret_cast<uintptr_t>(__builtin_return_address(0))

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

#define PLAIN(n)                                                              \
  void __tsan_read##n(void* a) { plain_access(a, n, false); }                 \
  void __tsan_write##n(void* a) { plain_access(a, n, true); }                 \
  void __tsan_read_write##n(void* a) { plain_access(a, n, true); }            \
  void __tsan_unaligned_read##n(void* a) { plain_access(a, n, false); }       \
  void __tsan_unaligned_write##n(void* a) { plain_access(a, n, true); }       \
  void __tsan_unaligned_read_write##n(void* a) { plain_access(a, n, true); }  \
  void __tsan_volatile_read##n(void* a) { plain_access(a, n, false); }        \
  void __tsan_volatile_write##n(void* a) { plain_access(a, n, true); }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void* a, unsigned long n) { plain_access(a, n, false); }
void __tsan_write_range(void* a, unsigned long n) { plain_access(a, n, true); }

void* __tsan_memcpy(void* to, const void* from, size_t n) {
  plain_access(from, n, false);
  plain_access(to, n, true);
  return std::memcpy(to, from, n);
}
void* __tsan_memmove(void* to, const void* from, size_t n) {
  plain_access(from, n, false);
  plain_access(to, n, true);
  return std::memmove(to, from, n);
}
void* __tsan_memset(void* to, int value, size_t n) {
  plain_access(to, n, true);
  return std::memset(to, value, n);
}

void __tsan_atomic_thread_fence(int order) { atomic_fence(order, HERE); }
void __tsan_atomic_signal_fence(int) {}

}  // extern "C"

namespace {
uint64_t swap(uint64_t, uint64_t b) { return b; }
uint64_t add(uint64_t a, uint64_t b) { return a + b; }
uint64_t subtract(uint64_t a, uint64_t b) { return a - b; }
uint64_t both(uint64_t a, uint64_t b) { return a & b; }
uint64_t either(uint64_t a, uint64_t b) { return a | b; }
uint64_t differ(uint64_t a, uint64_t b) { return a ^ b; }
}  // namespace

#define ATOMIC(bits, type)                                                                                          \
  extern "C" type __tsan_atomic##bits##_load(const volatile type* a, int order) {                                   \
    return static_cast<type>(atomic_load(const_cast<type*>(a), bits / 8, order, HERE));                             \
  }                                                                                                                 \
  extern "C" void __tsan_atomic##bits##_store(volatile type* a, type value, int order) {                            \
    atomic_store(const_cast<type*>(a), bits / 8, value, order, HERE);                                               \
  }                                                                                                                 \
  CHANGE(bits, type, exchange, swap)                                                                                \
  CHANGE(bits, type, fetch_add, add)                                                                                \
  CHANGE(bits, type, fetch_sub, subtract)                                                                           \
  CHANGE(bits, type, fetch_and, both)                                                                               \
  CHANGE(bits, type, fetch_or, either)                                                                              \
  CHANGE(bits, type, fetch_xor, differ)                                                                             \
  EXCHANGE(bits, type, compare_exchange_strong)                                                                     \
  EXCHANGE(bits, type, compare_exchange_weak)                                                                       \
  extern "C" type __tsan_atomic##bits##_compare_exchange_val(volatile type* a, type expected, type desired,         \
                                                             int success, int failure) {                            \
    uint64_t seen = expected;                                                                                       \
    atomic_compare_exchange(const_cast<type*>(a), bits / 8, seen, desired, success, failure, HERE);                 \
    return static_cast<type>(seen);                                                                                 \
  }
#define CHANGE(bits, type, name, function)                                                       \
  extern "C" type __tsan_atomic##bits##_##name(volatile type* a, type value, int order) {        \
    return static_cast<type>(atomic_change(const_cast<type*>(a), bits / 8, order, HERE, function, value)); \
  }
#define EXCHANGE(bits, type, name)                                                                                  \
  extern "C" int __tsan_atomic##bits##_##name(volatile type* a, type* expected, type desired, int success,          \
                                              int failure) {                                                        \
    uint64_t seen = *expected;                                                                                      \
    const bool done = atomic_compare_exchange(const_cast<type*>(a), bits / 8, seen, desired, success, failure, HERE); \
    *expected = static_cast<type>(seen);                                                                            \
    return done;                                                                                                    \
  }

ATOMIC(8, uint8_t)
ATOMIC(16, uint16_t)
ATOMIC(32, uint32_t)
ATOMIC(64, uint64_t)
