// Pages, addresses and rounding.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

inline constexpr unsigned kPageShift = 12;                        // acre's page; the OS page may be larger
inline constexpr size_t kHugePageBytes = size_t{2} << 20;         // unit in which chunks are mapped
inline constexpr size_t kCacheLine = 64;

inline constexpr size_t kPageBytes = size_t{1} << kPageShift;
inline constexpr size_t kPagesPerHugePage = kHugePageBytes / kPageBytes;

using Address = uintptr_t;

constexpr size_t align_down(size_t n, size_t alignment) { return n & ~(alignment - 1); }
constexpr size_t align_up(size_t n, size_t alignment) { return align_down(n + alignment - 1, alignment); }
constexpr bool is_aligned(size_t n, size_t alignment) { return (n & (alignment - 1)) == 0; }
constexpr size_t pages_for(size_t bytes) { return (bytes + kPageBytes - 1) >> kPageShift; }

inline Address address_of(const void* p) { return reinterpret_cast<Address>(p); }
inline void* pointer_to(Address a) { return reinterpret_cast<void*>(a); }

// Reads a stack or other foreign memory, which threads may write meanwhile. Sanitizers ignore the read.
__attribute__((no_sanitize("address", "thread"))) inline Address word_at(Address a) {
  return *static_cast<const volatile Address*>(pointer_to(a));
}

template <class T>
constexpr T smaller(T a, T b) { return a < b ? a : b; }
template <class T>
constexpr T larger(T a, T b) { return a < b ? b : a; }

}  // namespace acre
