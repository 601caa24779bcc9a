// dlsym and dlopen, where acre has to answer in the C library's place. All calls go on by a jump in place of a return,
// which keeps the return address: the C library's functions know their caller by it, and dlopen uses its caller's
// search path and namespace.
//
// dlsym, for RTLD_NEXT and the functions of malloc. A library with a malloc of its own may pass blocks of other
// allocators to the free that dlsym(RTLD_NEXT, "free") finds. If dlopen opened the library, "next" means its own
// dependencies: that is the C library's free and not acre's, although the C library's blocks (realpath, getline …) come
// from acre. So such a library gets acre's functions here. Libraries before acre, such as preloaded ones, find acre's
// anyway, or those of a library between.
//
// dlopen, without RTLD_DEEPBIND. A library opened with this flag finds malloc and free in the C library before acre's.
// The C library's functions that it calls (strdup, getline …) still use acre's. So one allocator would free blocks of
// the other.
//
// Neither on musl, which has no RTLD_DEEPBIND and no other way to its own dlsym.
#include "base/compiler.h"

#if ACRE_GLIBC && !ACRE_PREFIX_ONLY && !ACRE_STATIC_ARCHIVE && !ACRE_TESTING

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <initializer_list>

#include "base/fatal.h"
#include "os/module.h"

#if defined(__clang__)
#define ACRE_JUMP [[clang::musttail]] return
#define ACRE_JUMPING
#else
#define ACRE_JUMP return
#define ACRE_JUMPING __attribute__((optimize("O2")))  // for debug builds
#endif

using namespace acre;

namespace {

using Dlsym = void* (*)(void*, const char*);
using Dlopen = void* (*)(const char*, int);

struct Function {
  const char* name;
  void* function;
};
#define ACRE_FUNCTION(name) {#name, reinterpret_cast<void*>(&::name)}

void* find_own(const char* name) {
  static const Function functions[] = {
      ACRE_FUNCTION(malloc),         ACRE_FUNCTION(free),          ACRE_FUNCTION(calloc),
      ACRE_FUNCTION(realloc),        ACRE_FUNCTION(reallocarray),  ACRE_FUNCTION(memalign),
      ACRE_FUNCTION(aligned_alloc),  ACRE_FUNCTION(valloc),        ACRE_FUNCTION(pvalloc),
      ACRE_FUNCTION(posix_memalign), ACRE_FUNCTION(malloc_usable_size),
  };
  for (const Function& f : functions) {
    if (strcmp(f.name, name) == 0) return f.function;
  }
  return nullptr;
}

// The program's glibc has one of these versions.
Dlsym find_next() {
  for (const char* version : {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"}) {
    if (void* found = dlvsym(RTLD_NEXT, "dlsym", version)) return reinterpret_cast<Dlsym>(found);
  }
  fatal("dlsym: the C library's is not found");
}

// The C library's function, kept from the first call on.
template <class Pointer, class Find>
Pointer next_of(std::atomic<Pointer>& kept, Find find) {
  Pointer next = kept.load(std::memory_order_relaxed);
  if (ACRE_UNLIKELY(next == nullptr)) {
    next = find();
    kept.store(next, std::memory_order_relaxed);
  }
  return next;
}

}  // namespace

extern "C" ACRE_EXPORT ACRE_JUMPING void* dlsym(void* handle, const char* name) {
  static std::atomic<Dlsym> real{nullptr};
  if (ACRE_UNLIKELY(handle == RTLD_NEXT) && !os::is_loaded_before_acre(address_of(__builtin_return_address(0)))) {
    if (void* own = find_own(name)) return own;
  }
  const Dlsym next = next_of(real, find_next);
  ACRE_JUMP next(handle, name);
}

extern "C" ACRE_EXPORT ACRE_JUMPING void* dlopen(const char* file, int mode) {
  static std::atomic<Dlopen> real{nullptr};
  const Dlopen next = next_of(real, [] { return reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen")); });
  ACRE_JUMP next(file, mode & ~RTLD_DEEPBIND);
}

#endif
