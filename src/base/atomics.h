// Racy access to plain fields: one thread at a time writes the field, and others need only some recent value.
//
// The fields are not std::atomic, because gcc does not fold an atomic load into a compare with memory, and the hot
// paths count instructions. Under ThreadSanitizer the accesses are atomic.
#pragma once

#include <cstdint>

#include "base/compiler.h"

namespace acre {

template <class T>
ACRE_ALWAYS_INLINE T relaxed_load(const T& field) {
#if ACRE_TSAN
  T value;  // generic built-ins, since clang's others take no enumerations
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

// For statistics: reads a field whose writer does not think of readers. The field is naturally aligned and at most a
// word, so the value read was there once. ThreadSanitizer ignores the read.
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

// Hand over through a plain field: a thread that loads the value sees everything stored before release_store().
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

// For a field with one writer: subtracts one after all earlier stores.
ACRE_ALWAYS_INLINE void release_decrement(int32_t& field) {
#if defined(__x86_64__) && !ACRE_TSAN
  __atomic_signal_fence(__ATOMIC_RELEASE);  // x86 keeps stores in order; one instruction will do
  --field;
#else
  __atomic_store_n(&field, field - 1, __ATOMIC_RELEASE);
#endif
}

// For a statistics counter with one writer.
template <class T>
ACRE_ALWAYS_INLINE void relaxed_add(T& field, T delta) {
#if ACRE_TSAN
  __atomic_store_n(&field, __atomic_load_n(&field, __ATOMIC_RELAXED) + delta, __ATOMIC_RELAXED);
#else
  field += delta;  // one instruction on x86
#endif
}

}  // namespace acre
