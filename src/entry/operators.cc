// The replaceable C++ operators.
//
// The shared library serves C programs too and must not need libstdc++: there, what is needed of it is looked
// for by weak symbols. In the static archive this object is linked into C++ programs only, and refers to it
// plainly, so that the linker brings it in.
#include <new>

#include "entry/api.h"
#include "heap/refusal.h"

#if !ACRE_PREFIX_ONLY

namespace std {
void __throw_bad_alloc();
}
extern "C" std::new_handler acre_get_new_handler() __asm__("_ZSt15get_new_handlerv");

#if ACRE_STATIC_ARCHIVE
static auto find_thrower() { return &std::__throw_bad_alloc; }
static std::new_handler current_handler() { return acre_get_new_handler(); }
#else
// What a catch clause refers to, too.
asm(".weak _ZSt17__throw_bad_allocv, _ZSt15get_new_handlerv");
asm(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _Unwind_Resume, _ZSt9terminatev");

#include <dlfcn.h>

// A program in C that has loaded a library in C++ later on: the weak symbols were bound before that.
static void* find_in_cxx_library(const char* symbol) {
  for (const char* name : {"libstdc++.so.6", "libc++.so.1"}) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* found = dlsym(library, symbol);
    dlclose(library);
    if (found != nullptr) return found;
  }
  return nullptr;
}
template <class Function>
static Function* or_later(Function* bound, const char* symbol) {
  return bound != nullptr ? bound : reinterpret_cast<Function*>(find_in_cxx_library(symbol));
}
static auto find_thrower() { return or_later(&std::__throw_bad_alloc, "_ZSt17__throw_bad_allocv"); }
static std::new_handler current_handler() {
  auto* get = or_later(&acre_get_new_handler, "_ZSt15get_new_handlerv");
  return get == nullptr ? nullptr : get();
}
#endif

namespace {

using namespace acre;

// Where malloc asks before it gives up (heap/refusal.h), all was done already.
template <class Allocate>
ACRE_COLD void* allocate_or_throw(Allocate allocate, bool may_throw) {
  for (;;) {
    std::new_handler handler = refusal::has_handler() ? nullptr : current_handler();
    if (handler == nullptr) {
      if (!may_throw) return nullptr;
      if (auto* throw_bad_alloc = find_thrower()) throw_bad_alloc();
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

ACRE_CACHE_ALIGNED ACRE_EXPORT void* operator new(size_t n) { return allocate_new(n); }
ACRE_EXPORT void* operator new[](size_t n) { return allocate_new(n); }
ACRE_EXPORT void* operator new(size_t n, std::align_val_t a) { return allocate_new_aligned(n, a); }
ACRE_EXPORT void* operator new[](size_t n, std::align_val_t a) { return allocate_new_aligned(n, a); }

// The nothrow forms return null where a new_handler throws.
template <class Retry>
static ACRE_COLD void* catching(Retry retry) noexcept {
  try {
    return retry();
  } catch (...) {
    return nullptr;
  }
}
static void* allocate_nothrow(size_t n) noexcept {
  void* p = acre::allocate(n);
  return ACRE_LIKELY(p != nullptr) ? p : catching([=] { return retry(n, false); });
}
static void* allocate_nothrow(size_t n, std::align_val_t a) noexcept {
  void* p = acre::allocate_aligned(n, static_cast<size_t>(a));
  return ACRE_LIKELY(p != nullptr) ? p : catching([=] { return retry_aligned(n, static_cast<size_t>(a), false); });
}
ACRE_EXPORT void* operator new(size_t n, const std::nothrow_t&) noexcept { return allocate_nothrow(n); }
ACRE_EXPORT void* operator new[](size_t n, const std::nothrow_t&) noexcept { return allocate_nothrow(n); }
ACRE_EXPORT void* operator new(size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_nothrow(n, a);
}
ACRE_EXPORT void* operator new[](size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
  return allocate_nothrow(n, a);
}

ACRE_CACHE_ALIGNED ACRE_EXPORT void operator delete(void* p) noexcept { acre::release(p); }
ACRE_EXPORT void operator delete[](void* p) noexcept { acre::release(p); }
ACRE_CACHE_ALIGNED ACRE_EXPORT void operator delete(void* p, size_t) noexcept { acre::release(p); }
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
