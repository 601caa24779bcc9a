// dlopen, without RTLD_DEEPBIND.
//
// A library opened with RTLD_DEEPBIND finds malloc and free in the C library, its own dependency, before
// acre's, while the C library's functions that it calls (strdup, getline …) go on to use acre's: blocks of one
// allocator are then freed by the other. So the flag is taken away. The call goes on by a jump, which leaves
// the return address: by it dlopen knows the caller, whose search path and namespace count.
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
