#include <dlfcn.h>
#include <sys/auxv.h>

#include <atomic>

#include "base/compiler.h"
#include "base/syscall.h"
#include "base/thread_token.h"
#include "os/linux_library.h"
#include "os/os.h"
#include "os/unwind.h"

extern "C" {
__attribute__((weak)) int _Unwind_Backtrace(acre::os::Unwinder::Visit, void*);
__attribute__((weak)) acre::Address _Unwind_GetIPInfo(acre::os::UnwindContext*, int*);
__attribute__((weak)) acre::Address _Unwind_GetCFA(acre::os::UnwindContext*);
__attribute__((weak)) acre::Address _Unwind_GetGR(acre::os::UnwindContext*, int);
}
#if !ACRE_STATIC_ARCHIVE && !ACRE_TESTING
extern "C" const char __ehdr_start[] ACRE_HIDDEN;
extern "C" const char _end[] ACRE_HIDDEN;
#endif

#ifdef DLFO_EH_SEGMENT_TYPE  // glibc has it, from 2.35 on
#define ACRE_HAS_FIND_OBJECT 1
#if ACRE_STATIC_ARCHIVE || ACRE_TESTING
#pragma weak _dl_find_object
#endif
#else
#define ACRE_HAS_FIND_OBJECT 0
#endif

namespace acre::os {

#if ACRE_HAS_FIND_OBJECT
namespace {

using FindObject = int(void* address, dl_find_object* found);

#if ACRE_STATIC_ARCHIVE || ACRE_TESTING
FindObject* find_object_function() { return &_dl_find_object; }
#else
// No direct reference, which would bind the library to a glibc that has the function. No search at start, which would
// touch more of the library than anything else.
constinit std::atomic<FindObject*> g_find_object{nullptr};
int find_nothing(void*, dl_find_object*) { return -1; }
FindObject* find_object_function() {
  FindObject* found = g_find_object.load(std::memory_order_relaxed);
  if (found != nullptr) return found;
  found = reinterpret_cast<FindObject*>(find_in_library_of(reinterpret_cast<void*>(&getauxval), "_dl_find_object"));
  if (found == nullptr) found = find_nothing;
  g_find_object.store(found, std::memory_order_relaxed);
  return found;
}
#endif

}  // namespace
#endif

namespace {

bool is_whole(const Unwinder& found) {
  return found.walk != nullptr && found.code != nullptr && found.stack_pointer != nullptr &&
         found.saved_register != nullptr;
}

}  // namespace

// None in a static program, which has no loader: there libgcc learns of frames in a later constructor, aborts before
// that, and allocates with a lock held when it is first used.
static Unwinder linked_unwinder() {
  if (getauxval(AT_BASE) == 0) return {};
  return {&_Unwind_Backtrace, &_Unwind_GetIPInfo, &_Unwind_GetCFA, &_Unwind_GetGR};
}

bool has_unwinder() { return is_whole(linked_unwinder()); }

#if ACRE_STATIC_ARCHIVE || ACRE_TESTING
Unwinder find_unwinder() { return has_unwinder() ? linked_unwinder() : Unwinder{}; }

#if ACRE_TESTING
// A test may put code into the section acre_own_code, which then counts as acre's.
extern "C" __attribute__((weak, visibility("hidden"))) const char __start_acre_own_code[], __stop_acre_own_code[];
bool is_own_code(Address a) { return a >= address_of(__start_acre_own_code) && a < address_of(__stop_acre_own_code); }
#else
bool is_own_code(Address) { return false; }
#endif
OwnImage own_image() { return {}; }
#else
namespace {

template <class Function>
void look_up(void* library, const char* name, Function*& function) {
  function = reinterpret_cast<Function*>(dlsym(library, name));
}

}  // namespace

// A library that is opened stays open, since frames may be walked until the process ends.
Unwinder find_unwinder() {
  if (has_unwinder()) return linked_unwinder();
  void* library = dlopen("libgcc_s.so.1", RTLD_NOW);
  if (library == nullptr) return {};
  Unwinder found;
  look_up(library, "_Unwind_Backtrace", found.walk);
  look_up(library, "_Unwind_GetIPInfo", found.code);
  look_up(library, "_Unwind_GetCFA", found.stack_pointer);
  look_up(library, "_Unwind_GetGR", found.saved_register);
  return is_whole(found) ? found : Unwinder{};
}

OwnImage own_image() { return {address_of(__ehdr_start), address_of(_end)}; }
bool is_own_code(Address a) { return a - address_of(__ehdr_start) < static_cast<size_t>(_end - __ehdr_start); }
#endif

bool find_object([[maybe_unused]] Address code, [[maybe_unused]] CodeObject* object) {
#if ACRE_HAS_FIND_OBJECT
  dl_find_object found;
  FindObject* const function = find_object_function();
  if (function == nullptr || function(pointer_to(code), &found) != 0) return false;
  *object = {address_of(found.dlfo_map_start), address_of(found.dlfo_map_end), found.dlfo_link_map};
  return true;
#else
  return false;
#endif
}

// The first thread's stack ends above the data that the kernel put there. Another thread's control block lies at the
// end of its stack (glibc).
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

// The kernel reads the mask before it checks the first argument, which is invalid.
bool is_readable(Address a) {
  constexpr long kNoSuchWay = -1;
  constexpr long kFault = -14;  // EFAULT
  constexpr long kMaskSize = 8;
  const long mask = static_cast<long>(a & ~Address{kMaskSize - 1});
  return raw_syscall(SYS_rt_sigprocmask, kNoSuchWay, mask, 0, kMaskSize) != kFault;
}

// A stack whose pages can all be read up to the end of the thread's own is part of that: other mappings have a page between
// that cannot be read, or their end is not the thread's.
bool OwnStack::reaches(Address stack_pointer, Address stack_end) {
  constexpr size_t kMostAsked = size_t{1} << 20;
  if (stack_pointer >= from && stack_end == end) return true;
  if (stack_pointer < gap && gap - stack_pointer < kMostAsked) return false;
  const Address until = stack_end == end && stack_pointer < from ? from : stack_end;
  const Address first = align_down(stack_pointer, kPageBytes);
  if (until - first > kMostAsked) return false;
  for (Address page = first; page < until; page += kPageBytes) {
    if (is_readable(page)) continue;
    gap = page;
    return false;
  }
  from = first;
  end = stack_end;
  return true;
}

}  // namespace acre::os
