// What the operators delete do with a block that the fast path does not take.
#include "cache/direct.h"
#include "cache/misuse.h"
#include "entry/operators.h"
#include "os/module.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;
using namespace acre::operators;
using std::align_val_t;

// Defined in operators.cc.
extern "C" ACRE_HIDDEN void acre_own_delete(void*) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_array(void*) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_aligned(void*, align_val_t) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_array_aligned(void*, align_val_t) noexcept;

namespace {

template <class... Alignment>
using Delete = void (*)(void*, Alignment...);

// Calls the operator delete of this name that the module has; false: it has none but acre's.
template <class... Alignment>
bool call_of_module(const os::Module& module, const char* name, Delete<Alignment...> acres, void* p, Alignment... a) {
  auto* own = reinterpret_cast<Delete<Alignment...>>(os::find_exported(module, name));
  if (own == nullptr || own == acres) return false;
  own(p, a...);
  return true;
}

bool call_of_module(const os::Module& module, Form form, void* p, align_val_t a) {
  switch (form) {
    case kObject:
    case kOtherObject: return call_of_module(module, "_ZdlPv", acre_own_delete, p);
    case kArray:
    case kOtherArray: return call_of_module(module, "_ZdaPv", acre_own_delete_array, p);
    case kAlignedObject:
    case kOtherAlignedObject:
      return call_of_module(module, "_ZdlPvSt11align_val_t", acre_own_delete_aligned, p, a);
    case kAlignedArray:
    case kOtherAlignedArray:
      return call_of_module(module, "_ZdaPvSt11align_val_t", acre_own_delete_array_aligned, p, a);
  }
  return false;
}

// A library that has operators delete of its own, for blocks of a malloc of its own, may have got this block without
// calling acre's operator new: where some of its operators new are hidden, or inlined, they were not acre's to
// replace. So what would have been called without acre is called: the library's own.
ACRE_COLD void foreign(void* p, unsigned form, size_t alignment, const void* caller) {
  os::Module module;
  if (os::find_module(address_of(caller), &module) &&
      call_of_module(module, static_cast<Form>(form), p, align_val_t{alignment})) {
    return;
  }
  misuse::not_a_block("free", p, caller);
}

// As the standard has it.
ACRE_COLD void call_base(void* p, Form form, align_val_t a) {
  switch (form) {
    case kOtherObject:
    case kArray: return ::operator delete(p);
    case kOtherArray: return ::operator delete[](p);
    case kOtherAlignedObject:
    case kAlignedArray: return ::operator delete(p, a);
    case kOtherAlignedArray: return ::operator delete[](p, a);
    default: return release_slow_or(p, form, static_cast<size_t>(a), foreign);
  }
}

}  // namespace

void acre::operators::delete_slow(void* p, Form form, align_val_t a) noexcept {
  if (ACRE_UNLIKELY(!direct::is_on())) return call_base(p, form, a);
  release_slow_or(p, form, static_cast<size_t>(a), foreign);
}

#endif
