#include <dlfcn.h>
#include <sys/auxv.h>

#include "base/compiler.h"
#include "base/syscall.h"
#include "base/thread_token.h"
#include "os/os.h"
#include "os/unwind.h"

#if ACRE_STATIC_ARCHIVE || ACRE_TESTING
extern "C" {
__attribute__((weak)) int _Unwind_Backtrace(acre::os::Unwinder::Visit, void*);
__attribute__((weak)) acre::Address _Unwind_GetIP(acre::os::UnwindContext*);
__attribute__((weak)) acre::Address _Unwind_GetGR(acre::os::UnwindContext*, int);
}
#else
extern "C" const char __ehdr_start[] ACRE_HIDDEN;
extern "C" const char _end[] ACRE_HIDDEN;
#endif

#ifdef DLFO_EH_SEGMENT_TYPE  // glibc has it, from 2.35 on
#pragma weak _dl_find_object
#define ACRE_HAS_FIND_OBJECT 1
#else
#define ACRE_HAS_FIND_OBJECT 0
#endif

namespace acre::os {

#if ACRE_STATIC_ARCHIVE || ACRE_TESTING
// What the program is linked with. Not in a static one, which has no loader: there libgcc learns of frames by a later
// constructor, aborts before that, and allocates with a lock held at its first use.
Unwinder find_unwinder() {
  if (getauxval(AT_BASE) == 0) return {};
  if (&_Unwind_Backtrace == nullptr || &_Unwind_GetIP == nullptr || &_Unwind_GetGR == nullptr) return {};
  return {&_Unwind_Backtrace, &_Unwind_GetIP, &_Unwind_GetGR};
}

bool is_own_code(Address) { return false; }
OwnImage own_image() { return {}; }
#else
namespace {

template <class Function>
bool look_up(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

// It stays open: frames may be walked until the process ends.
Unwinder find_unwinder() {
  void* library = dlopen("libgcc_s.so.1", RTLD_NOW);
  if (library == nullptr) return {};
  Unwinder found;
  const bool whole = look_up(library, "_Unwind_Backtrace", found.walk) &&
                     look_up(library, "_Unwind_GetIP", found.code) && look_up(library, "_Unwind_GetGR", found.word);
  return whole ? found : Unwinder{};
}

OwnImage own_image() { return {address_of(__ehdr_start), address_of(_end)}; }
bool is_own_code(Address a) { return a - address_of(__ehdr_start) < static_cast<size_t>(_end - __ehdr_start); }
#endif

bool find_object([[maybe_unused]] Address code, [[maybe_unused]] CodeObject* object) {
#if ACRE_HAS_FIND_OBJECT
  dl_find_object found;
  if (&_dl_find_object == nullptr || _dl_find_object(pointer_to(code), &found) != 0) return false;
  *object = {address_of(found.dlfo_map_start), address_of(found.dlfo_map_end), address_of(found.dlfo_eh_frame)};
  return true;
#else
  return false;
#endif
}

// The first thread's stack ends above what the kernel put there; other threads' control blocks lie at the end of
// theirs (glibc).
Address stack_end(Address inside) {
  constexpr size_t kMostStack = size_t{1} << 30;
  static std::atomic<Address> first{0};
  Address end = first.load(std::memory_order_relaxed);
  if (end == 0) {
    end = getauxval(AT_RANDOM);
    first.store(end, std::memory_order_relaxed);
  }
  if (inside < end && end - inside < kMostStack) return end;
  end = this_thread();
  return inside < end && end - inside < kMostStack ? end : 0;
}

// The kernel reads the mask before it finds that there is no such way to use it.
bool is_readable(Address a) {
  constexpr long kNoSuchWay = -1;
  constexpr long kFault = -14;  // EFAULT
  constexpr long kMaskBytes = 8;
  const long mask = static_cast<long>(a & ~Address{kMaskBytes - 1});
  return raw_syscall(SYS_rt_sigprocmask, kNoSuchWay, mask, 0, kMaskBytes) != kFault;
}

}  // namespace acre::os
