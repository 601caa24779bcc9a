// Relaxed access to plain fields.
//
// A few fields are written by one thread at a time and read by others that only need some recent value.
// std::atomic would be right, but gcc does not fold an atomic load into a compare with memory, and the hot
// paths count instructions. So the fields are plain, and these functions name each racy access; under
// ThreadSanitizer they are atomic.
#pragma once

#include <cstdint>

#include "base/compiler.h"

namespace acre {

template <class T>
ACRE_ALWAYS_INLINE T relaxed_load(const T& field) {
#if ACRE_TSAN
  T value;  // the generic built-ins, since clang's others take no enumerations
  __atomic_load(&field, &value, __ATOMIC_RELAXED);
  return value;
#else
  return field;  // naturally aligned, at most a word: one load
#endif
}

template <class T>
ACRE_ALWAYS_INLINE void relaxed_store(T& field, T value) {
  __atomic_store(&field, &value, __ATOMIC_RELAXED);
}

// For statistics: a field that whoever has it changes without a thought of readers. Naturally aligned, at most a word:
// what is read was there once. ThreadSanitizer is told to look away.
#if ACRE_TSAN
template <class T>
__attribute__((noinline, no_sanitize("thread"))) T racy_load(const T& field) {
  return *const_cast<const volatile T*>(&field);
}
#else
template <class T>
ACRE_ALWAYS_INLINE T racy_load(const T& field) {
  return *const_cast<const volatile T*>(&field);
}
#endif

// The two ends of a hand-over through a plain field: what was stored before it is seen after it.
template <class T>
ACRE_ALWAYS_INLINE T acquire_load(const T& field) {
  T value;
  __atomic_load(&field, &value, __ATOMIC_ACQUIRE);
  return value;
}

template <class T>
ACRE_ALWAYS_INLINE void release_store(T& field, T value) {
  __atomic_store(&field, &value, __ATOMIC_RELEASE);
}

// Subtracts one after all earlier stores, for a field with one writer.
ACRE_ALWAYS_INLINE void release_decrement(int32_t& field) {
#if defined(__x86_64__) && !ACRE_TSAN
  __atomic_signal_fence(__ATOMIC_RELEASE);  // x86 keeps stores in order, and needs one instruction for this
  --field;
#else
  __atomic_store_n(&field, field - 1, __ATOMIC_RELEASE);
#endif
}

// A statistics counter with one writer.
template <class T>
ACRE_ALWAYS_INLINE void relaxed_add(T& field, T delta) {
#if ACRE_TSAN
  __atomic_store_n(&field, __atomic_load_n(&field, __ATOMIC_RELAXED) + delta, __ATOMIC_RELAXED);
#else
  field += delta;  // one instruction where memory can be added to
#endif
}

}  // namespace acre
