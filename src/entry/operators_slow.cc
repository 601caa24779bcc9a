// The slow paths of the operators: calls of new_handler, bad_alloc, calls of the operators that they are built on.
//
// The shared library also serves C programs, and must not need libstdc++: it finds what it needs there by weak symbols.
// In the static archive this object is linked into C++ programs only. Its references are plain, so that the linker
// brings in libstdc++.
#include "entry/operators.h"

#include "cache/direct.h"
#include "cache/new_handler.h"
#include "cache/upcalls.h"
#include "entry/api.h"

#if !ACRE_PREFIX_ONLY

namespace std {
void __throw_bad_alloc();
}
extern "C" std::new_handler acre_get_new_handler() __asm__("_ZSt15get_new_handlerv");

#if ACRE_STATIC_ARCHIVE
static auto find_thrower() { return &std::__throw_bad_alloc; }
static std::new_handler current_handler() { return acre_get_new_handler(); }
#else
// Includes what a catch clause refers to.
asm(".weak _ZSt17__throw_bad_allocv, _ZSt15get_new_handlerv");
asm(".weak __gxx_personality_v0, __cxa_begin_catch, __cxa_end_catch, _Unwind_Resume, _ZSt9terminatev");

#include <dlfcn.h>

#include <initializer_list>

// For a C program that loaded a C++ library after the weak symbols were bound.
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

using namespace acre;
using std::align_val_t;
using std::nothrow_t;

namespace {

// If malloc asks a handler before it gives up (cache/new_handler.h), nothing is left to ask.
template <class Allocate>
ACRE_COLD void* allocate_or_throw(Allocate allocate, bool may_throw) {
  for (;;) {
    std::new_handler handler = new_handler::has_handler() ? nullptr : current_handler();
    if (handler == nullptr) {
      if (!may_throw) return nullptr;
      if (auto* throw_bad_alloc = find_thrower()) throw_bad_alloc();
      fatal("operator new: out of memory, and no C++ library to throw bad_alloc");
    }
    handler();
    if (void* p = allocate()) return p;
  }
}

void* ask(Kind kind, size_t size) { return hardened::is_on() ? hardened::allocate(size, kind) : allocate(size); }
void* ask(Kind kind, size_t size, align_val_t a) {
  const auto alignment = static_cast<size_t>(a);
  return hardened::is_on() ? hardened::allocate_aligned(size, alignment, kind) : allocate_aligned(size, alignment);
}

template <class... Arguments>
ACRE_COLD void* retry(Kind kind, bool may_throw, Arguments... arguments) {
  return allocate_or_throw([=] { return ask(kind, arguments...); }, may_throw);
}

// base(arguments…) is the operator to call if the heap must not be asked directly.
template <class... Arguments>
ACRE_COLD void* retry_or_call(Kind kind, void* (*base)(Arguments...), Arguments... arguments) {
  return direct::is_on() ? retry(kind, true, arguments...) : base(arguments...);
}

// Returns null where a new_handler or a replaced operator throws.
template <class... Arguments>
ACRE_COLD void* retry_or_call_nothrow(Kind kind, void* (*base)(Arguments...), Arguments... arguments) noexcept {
  try {
    return direct::is_on() ? retry(kind, false, arguments...) : base(arguments...);
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

namespace acre::operators {

// For the operators that are built on others.
static void* ask_directly(Kind kind, size_t n) {
  return hardened::is_on() && direct::is_on() ? hardened::allocate(n, kind) : direct::g_allocate_slow(n);
}

// The program's own operator delete may call free.
static Kind kind_of_new() { return direct::is_on() ? Kind::kNew : Kind::kAny; }

void* new_slow(size_t n) {
  void* p = hardened::is_on() ? hardened::allocate(n, kind_of_new()) : allocate_slow(n);
  return ACRE_LIKELY(p != nullptr) ? p : retry(kind_of_new(), true, n);
}
void* new_array_slow(size_t n) {
  void* p = ask_directly(Kind::kNewArray, n);
  return ACRE_LIKELY(p != nullptr) ? p : retry_or_call(Kind::kNewArray, &::operator new, n);
}
void* new_nothrow_slow(size_t n) noexcept {
  void* p = ask_directly(Kind::kNew, n);
  return ACRE_LIKELY(p != nullptr) ? p : retry_or_call_nothrow(Kind::kNew, &::operator new, n);
}
void* new_array_nothrow_slow(size_t n) noexcept {
  void* p = ask_directly(Kind::kNewArray, n);
  return ACRE_LIKELY(p != nullptr) ? p : retry_or_call_nothrow(Kind::kNewArray, &::operator new[], n);
}

void* new_for_pointers(const hardened::Request& request) {
  void* p = hardened::allocate_for_pointers(request);
  return p != nullptr ? p : allocate_or_throw([&] { return hardened::allocate_for_pointers(request); }, true);
}
void* new_for_pointers_nothrow(const hardened::Request& request) noexcept {
  void* p = hardened::allocate_for_pointers(request);
  if (p != nullptr) return p;
  try {
    return allocate_or_throw([&] { return hardened::allocate_for_pointers(request); }, false);
  } catch (...) {
    return nullptr;
  }
}

// In the hardened mode the heap has not been asked yet. is_base: the operator is built on no other.
static void* ask_at_last(Kind kind, size_t n, align_val_t a, bool is_base = false) {
  return hardened::is_on() && (is_base || direct::is_on()) ? ask(kind, n, a) : nullptr;
}

void* new_aligned_refused(size_t n, align_val_t a) {
  void* p = ask_at_last(Kind::kNewAligned, n, a, true);
  return p != nullptr ? p : retry(Kind::kNewAligned, true, n, a);
}
void* new_array_aligned_refused(size_t n, align_val_t a) {
  void* p = ask_at_last(Kind::kNewArrayAligned, n, a);
  return p != nullptr ? p : retry_or_call(Kind::kNewArrayAligned, &::operator new, n, a);
}
void* new_aligned_nothrow_refused(size_t n, align_val_t a) noexcept {
  void* p = ask_at_last(Kind::kNewAligned, n, a);
  return p != nullptr ? p : retry_or_call_nothrow(Kind::kNewAligned, &::operator new, n, a);
}
void* new_array_aligned_nothrow_refused(size_t n, align_val_t a) noexcept {
  void* p = ask_at_last(Kind::kNewArrayAligned, n, a);
  return p != nullptr ? p : retry_or_call_nothrow(Kind::kNewArrayAligned, &::operator new[], n, a);
}

}  // namespace acre::operators

#endif
