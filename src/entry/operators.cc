// The replaceable C++ operators: their fast paths, which go on by jumps. (So they are compiled without exceptions, which would
// take a frame; those of operators_slow.cc pass through.)
#include "entry/operators.h"

#include "entry/api.h"
#include "heap/direct.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;
using namespace acre::operators;
// In the static archive they are weak, so that a program may have its own in place of any of them.
#if ACRE_STATIC_ARCHIVE
#define ACRE_OPERATOR ACRE_EXPORT __attribute__((weak))
#else
#define ACRE_OPERATOR ACRE_EXPORT
#endif

using std::align_val_t;
using std::nothrow_t;

// Inlined, so that the return address is the operator's.
#define ACRE_CALL(slow) \
  [=](void* block) __attribute__((always_inline)) { slow(block, a..., __builtin_return_address(0)); }

// A form that is built on none, and one that is built on another. a: the alignment, for forms that have one.
template <auto slow, class... Alignment>
ACRE_ALWAYS_INLINE static void release_base(void* p, Alignment... a) {
  release_at(unit_table::at(p), p, ACRE_CALL(slow));
}
template <auto slow, class... Alignment>
ACRE_ALWAYS_INLINE static void release_other(void* p, Alignment... a) {
  direct::release(p, ACRE_CALL(slow));
}

template <auto refused>
ACRE_ALWAYS_INLINE static void* allocate_or_ask(void* (*allocate_aligned)(size_t, size_t), size_t n, align_val_t a) {
  void* p = allocate_aligned(n, static_cast<size_t>(a));
  return ACRE_LIKELY(p != nullptr) ? p : refused(n, a);
}

#pragma GCC diagnostic ignored "-Wmissing-declarations"

ACRE_CACHE_ALIGNED ACRE_OPERATOR void* operator new(size_t n) { return allocate_or(n > kTableMax, n, new_slow); }
ACRE_OPERATOR void* operator new[](size_t n) { return direct::allocate(n, new_array_slow); }
ACRE_OPERATOR void* operator new(size_t n, const nothrow_t&) noexcept { return direct::allocate(n, new_nothrow_slow); }
ACRE_OPERATOR void* operator new[](size_t n, const nothrow_t&) noexcept {
  return direct::allocate(n, new_array_nothrow_slow);
}

ACRE_OPERATOR void* operator new(size_t n, align_val_t a) {
  return allocate_or_ask<new_aligned_refused>(acre::allocate_aligned, n, a);
}
ACRE_OPERATOR void* operator new[](size_t n, align_val_t a) {
  return allocate_or_ask<new_array_aligned_refused>(direct::g_allocate_aligned, n, a);
}
ACRE_OPERATOR void* operator new(size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate_or_ask<new_aligned_nothrow_refused>(direct::g_allocate_aligned, n, a);
}
ACRE_OPERATOR void* operator new[](size_t n, align_val_t a, const nothrow_t&) noexcept {
  return allocate_or_ask<new_array_aligned_nothrow_refused>(direct::g_allocate_aligned, n, a);
}

ACRE_CACHE_ALIGNED ACRE_OPERATOR void operator delete(void* p) noexcept { release_base<delete_slow>(p); }
ACRE_CACHE_ALIGNED ACRE_OPERATOR void operator delete(void* p, size_t) noexcept { release_other<delete_other_slow>(p); }
ACRE_OPERATOR void operator delete(void* p, const nothrow_t&) noexcept { release_other<delete_other_slow>(p); }
ACRE_OPERATOR void operator delete[](void* p) noexcept { release_other<delete_array_slow>(p); }
ACRE_OPERATOR void operator delete[](void* p, size_t) noexcept { release_other<delete_other_array_slow>(p); }
ACRE_OPERATOR void operator delete[](void* p, const nothrow_t&) noexcept { release_other<delete_other_array_slow>(p); }

ACRE_OPERATOR void operator delete(void* p, align_val_t a) noexcept { release_base<delete_aligned_slow>(p, a); }
ACRE_OPERATOR void operator delete(void* p, size_t, align_val_t a) noexcept {
  release_other<delete_other_aligned_slow>(p, a);
}
ACRE_OPERATOR void operator delete(void* p, align_val_t a, const nothrow_t&) noexcept {
  release_other<delete_other_aligned_slow>(p, a);
}
ACRE_OPERATOR void operator delete[](void* p, align_val_t a) noexcept { release_other<delete_array_aligned_slow>(p, a); }
ACRE_OPERATOR void operator delete[](void* p, size_t, align_val_t a) noexcept {
  release_other<delete_other_array_aligned_slow>(p, a);
}
ACRE_OPERATOR void operator delete[](void* p, align_val_t a, const nothrow_t&) noexcept {
  release_other<delete_other_array_aligned_slow>(p, a);
}

// Second names, which lead to acre's own in any case (os/linux_operators.cc).
#define ACRE_OWN_NAME(own, name) asm(".globl " #own "\n.hidden " #own "\n.set " #own ", " name)
ACRE_OWN_NAME(acre_own_new, "_Znwm");
ACRE_OWN_NAME(acre_own_new_array, "_Znam");
ACRE_OWN_NAME(acre_own_new_aligned, "_ZnwmSt11align_val_t");
ACRE_OWN_NAME(acre_own_new_array_aligned, "_ZnamSt11align_val_t");
ACRE_OWN_NAME(acre_own_delete, "_ZdlPv");
ACRE_OWN_NAME(acre_own_delete_array, "_ZdaPv");
ACRE_OWN_NAME(acre_own_delete_aligned, "_ZdlPvSt11align_val_t");
ACRE_OWN_NAME(acre_own_delete_array_aligned, "_ZdaPvSt11align_val_t");

#endif
