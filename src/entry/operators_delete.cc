// The slow path of operator delete.
#include "cache/direct.h"
#include "cache/lookup.h"
#include "cache/misuse.h"
#include "entry/operators.h"
#include "os/module.h"
#include "tables/options.h"

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

// Calls the module's own operator delete of this name. Returns false if the module has none but acre's.
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

const char* operator_of(Form form) {
  return form == kArray || form == kOtherArray || form == kAlignedArray || form == kOtherAlignedArray ? "operator delete[]"
                                                                                                       : "operator delete";
}

// A library may have operators delete and a malloc of its own. It may have got this block without acre's operator new,
// which could not replace operators new that are hidden or inlined in the library. So this function calls the library's
// own operator, as it would be without acre.
ACRE_COLD void foreign(void* p, unsigned form, size_t alignment, const void* caller) {
  os::Module module;
  if (os::find_module(address_of(caller), &module) &&
      call_of_module(module, static_cast<Form>(form), p, align_val_t{alignment})) {
    return;
  }
  misuse::not_a_block(operator_of(static_cast<Form>(form)), p, caller);
}

// Calls the operator that the standard says the form is built on.
ACRE_COLD void call_base(void* p, Form form, align_val_t a) {
  switch (form) {
    case kOtherObject:
    case kArray: return ::operator delete(p);
    case kOtherArray: return ::operator delete[](p);
    case kOtherAlignedObject:
    case kAlignedArray: return ::operator delete(p, a);
    case kOtherAlignedArray: return ::operator delete[](p, a);
    default: return release_slow_or(p, operator_of(form), form, static_cast<size_t>(a), foreign);
  }
}

}  // namespace

void acre::operators::delete_slow(void* p, Form form, align_val_t a) noexcept {
  if (ACRE_UNLIKELY(!direct::is_on())) return call_base(p, form, a);
  release_slow_or(p, operator_of(form), form, static_cast<size_t>(a), foreign);
}

ACRE_COLD void acre::operators::delete_unaligned(void* p, Form form, align_val_t a) noexcept {
  // Where the program has replaced an operator, it may not be acre's block.
  const Found found = direct::is_on() && relaxed_load(options().size_checks) ? find_block(p) : Found{};
  if (found.slab != nullptr || found.run != nullptr) {
    misuse::wrong_alignment(operator_of(form), p, static_cast<size_t>(a));
  }
  delete_slow(p, form, a);
}

ACRE_APART void acre::operators::delete_sized_slow(void* p, size_t n, Form form, align_val_t a) noexcept {
  // Where the program has replaced an operator, it may not be acre's block.
  if (direct::is_on()) {
    check_size(p, n, a == align_val_t{} ? 1 : static_cast<size_t>(a), operator_of(form));
    note_sized(p);
  }
  delete_slow(p, form, a);
}

#endif
