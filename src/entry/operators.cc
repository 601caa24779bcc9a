// The replaceable C++ operators.
//
// The shared library serves C programs too and must not need libstdc++: there, what is needed of it is looked
// for by weak symbols. In the static archive this object is linked into C++ programs only, and refers to it
// plainly, so that the linker brings it in.
#include <new>

#include "entry/api.h"

#if !ACRE_PREFIX_ONLY

#if ACRE_STATIC_ARCHIVE
#define ACRE_FROM_CXX
#else
#define ACRE_FROM_CXX __attribute__((weak))
#endif

namespace std {
ACRE_FROM_CXX void __throw_bad_alloc();
}
extern "C" ACRE_FROM_CXX std::new_handler acre_get_new_handler() __asm__("_ZSt15get_new_handlerv");

namespace {

using namespace acre;

template <class Allocate>
ACRE_COLD void* allocate_or_throw(Allocate allocate, bool may_throw) {
  for (;;) {
    std::new_handler handler = &acre_get_new_handler != nullptr ? acre_get_new_handler() : nullptr;
    if (handler == nullptr) {
      if (!may_throw) return nullptr;
      if (&std::__throw_bad_alloc != nullptr) std::__throw_bad_alloc();
      fatal("operator new: out of memory, and no C++ library to throw bad_alloc");
    }
    handler();
    if (void* p = allocate()) return p;
  }
}

ACRE_COLD void* retry(size_t size, bool may_throw) {
  return allocate_or_throw([size] { return allocate(size); }, may_throw);
}
ACRE_COLD void* retry_aligned(size_t size, size_t alignment, bool may_throw) {
  return allocate_or_throw([=] { return allocate_aligned(size, alignment); }, may_throw);
}

ACRE_ALWAYS_INLINE void* allocate_new(size_t size) {
  void* p = allocate(size);
  return ACRE_LIKELY(p != nullptr) ? p : retry(size, true);
}
ACRE_ALWAYS_INLINE void* allocate_new_aligned(size_t size, std::align_val_t alignment) {
  void* p = allocate_aligned(size, static_cast<size_t>(alignment));
  return ACRE_LIKELY(p != nullptr) ? p : retry_aligned(size, static_cast<size_t>(alignment), true);
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"

ACRE_EXPORT void* operator new(size_t n) { return allocate_new(n); }
ACRE_EXPORT void* operator new[](size_t n) { return allocate_new(n); }
ACRE_EXPORT void* operator new(size_t n, std::align_val_t a) { return allocate_new_aligned(n, a); }
ACRE_EXPORT void* operator new[](size_t n, std::align_val_t a) { return allocate_new_aligned(n, a); }

// A new_handler may throw; a nothrow operator must not, so it stops there: the handler's exception would end
// the program, as noexcept has it.
static void* allocate_nothrow(size_t n) noexcept {
  void* p = acre::allocate(n);
  return ACRE_LIKELY(p != nullptr) ? p : retry(n, false);
}
static void* allocate_nothrow(size_t n, std::align_val_t a) noexcept {
  void* p = acre::allocate_aligned(n, static_cast<size_t>(a));
  return ACRE_LIKELY(p != nullptr) ? p : retry_aligned(n, static_cast<size_t>(a), false);
}
ACRE_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate_nothrow(n); }
ACRE_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate_nothrow(n); }
ACRE_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_nothrow(n, a);
}
ACRE_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_nothrow(n, a);
}

ACRE_EXPORT void operator delete(void* p) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete(void* p, size_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p, size_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete(void* p, const std::nothrow_t&) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p, const std::nothrow_t&) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete(void* p, std::align_val_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p, std::align_val_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete(void* p, size_t, std::align_val_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p, size_t, std::align_val_t) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete(void* p, std::align_val_t, const std::nothrow_t&) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p, std::align_val_t, const std::nothrow_t&) noexcept { acre::release(p); }

#endif
