// dlopen without RTLD_DEEPBIND.
//
// A library opened with this flag finds malloc and free in the C library before acre's. The C library's functions that
// it calls (strdup, getline …) still use acre's. So one allocator would free blocks of the other. This dlopen drops the
// flag and goes on by a jump, which keeps the return address: the C library's dlopen uses the search path and namespace
// of its caller.
#include "base/compiler.h"

#if !ACRE_PREFIX_ONLY && !ACRE_STATIC_ARCHIVE && !ACRE_TESTING

#include <dlfcn.h>

#include <atomic>

#include "entry/jump.h"

extern "C" ACRE_EXPORT ACRE_JUMPING void* dlopen(const char* file, int mode) {
  using Dlopen = void* (*)(const char*, int);
  static std::atomic<Dlopen> real{nullptr};
  Dlopen next = real.load(std::memory_order_relaxed);
  if (ACRE_UNLIKELY(next == nullptr)) {
    next = reinterpret_cast<Dlopen>(dlsym(RTLD_NEXT, "dlopen"));
    real.store(next, std::memory_order_relaxed);
  }
  ACRE_JUMP next(file, mode & ~RTLD_DEEPBIND);
}

#endif
