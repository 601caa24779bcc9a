// The replaceable C++ operators: their fast paths, which go on by jumps. They are compiled without exceptions, which
// would need a frame; exceptions of operators_slow.cc pass through.
#include "entry/operators.h"

#include "cache/direct.h"
#include "cache/upcalls.h"
#include "entry/api.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;
using namespace acre::operators;
// Weak in the static archive, so that a program may define its own operators.
#if ACRE_STATIC_ARCHIVE
#define ACRE_OPERATOR ACRE_EXPORT __attribute__((weak))
#else
#define ACRE_OPERATOR ACRE_EXPORT
#endif

using std::align_val_t;
using std::nothrow_t;

namespace {

// For a form that is built on no other, and for one that is.
ACRE_ALWAYS_INLINE void release_base(void* p, Form form) {
  release_at(unit_table::at(p), p, [=](void* block) { delete_slow(block, form, {}); });
}
ACRE_ALWAYS_INLINE void release_other(void* p, Form form, align_val_t a = {}) {
  direct::release(p, [=](void* block) { delete_slow(block, form, a); });
}

ACRE_ALWAYS_INLINE void release_sized(void* p, size_t n, Form form) {
  direct::release(p, [=](void* block) { delete_sized_slow(block, n, form, {}); }, release_elsewhere_sized, SizeOf{n});
}

// Forms that are called less share this code.
ACRE_APART void release_shared(void* p, Form form) { release_other(p, form); }
ACRE_APART void release_aligned(void* p, Form form, align_val_t a) {
  const auto alignment = static_cast<size_t>(a);
  if (ACRE_UNLIKELY(((address_of(p) | alignment) & (alignment - 1)) != 0)) return delete_unaligned(p, form, a);
  release_other(p, form, a);
}
ACRE_APART void release_shared_sized(void* p, size_t n, Form form, align_val_t a) {
  direct::release(p, [=](void* block) { delete_sized_slow(block, n, form, a); }, release_elsewhere_sized,
                  api::AlignedSizeOf{n, static_cast<size_t>(a)});
}

template <auto refused>
ACRE_ALWAYS_INLINE void* allocate_or_ask(void* (*allocate_aligned)(size_t, size_t), size_t n, align_val_t a) {
  void* p = hardened::is_on() ? nullptr : allocate_aligned(n, static_cast<size_t>(a));
  return ACRE_LIKELY(p != nullptr) ? p : refused(n, a);
}

}  // namespace

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

ACRE_CACHE_ALIGNED ACRE_OPERATOR void operator delete(void* p) noexcept { release_base(p, kObject); }
ACRE_CACHE_ALIGNED ACRE_OPERATOR void operator delete(void* p, size_t n) noexcept { release_sized(p, n, kOtherObject); }
ACRE_OPERATOR void operator delete[](void* p) noexcept { release_other(p, kArray); }
ACRE_OPERATOR void operator delete[](void* p, size_t n) noexcept { release_sized(p, n, kOtherArray); }

ACRE_OPERATOR void operator delete(void* p, const nothrow_t&) noexcept { release_shared(p, kOtherObject); }
ACRE_OPERATOR void operator delete[](void* p, const nothrow_t&) noexcept { release_shared(p, kOtherArray); }
ACRE_OPERATOR void operator delete(void* p, align_val_t a) noexcept { release_aligned(p, kAlignedObject, a); }
ACRE_OPERATOR void operator delete(void* p, size_t n, align_val_t a) noexcept {
  release_shared_sized(p, n, kOtherAlignedObject, a);
}
ACRE_OPERATOR void operator delete(void* p, align_val_t a, const nothrow_t&) noexcept {
  release_aligned(p, kOtherAlignedObject, a);
}
ACRE_OPERATOR void operator delete[](void* p, align_val_t a) noexcept { release_aligned(p, kAlignedArray, a); }
ACRE_OPERATOR void operator delete[](void* p, size_t n, align_val_t a) noexcept {
  release_shared_sized(p, n, kOtherAlignedArray, a);
}
ACRE_OPERATOR void operator delete[](void* p, align_val_t a, const nothrow_t&) noexcept {
  release_aligned(p, kOtherAlignedArray, a);
}

// Second names, which always name acre's operators (os/linux_operators.cc).
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
