// What the operators delete do with a block that the fast path does not take.
#include "entry/operators.h"
#include "heap/direct.h"
#include "heap/misuse.h"
#include "os/module.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;
using std::align_val_t;

// Defined in operators.cc.
extern "C" ACRE_HIDDEN void acre_own_delete(void*) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_array(void*) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_aligned(void*, align_val_t) noexcept;
extern "C" ACRE_HIDDEN void acre_own_delete_array_aligned(void*, align_val_t) noexcept;

namespace {

// A library that has operators delete of its own, for blocks of a malloc of its own, may have got this one without calling
// acre's operator new: some of its operators new are hidden, or inlined, and were not acre's to replace. So what would have
// been called without acre is called: the library's own.
template <class... Alignment>
void give_back_to_caller(const char* name, void (*acres)(void*, Alignment...) noexcept, void* p, const void* caller,
                         Alignment... a) {
  os::Module module;
  if (os::find_module(address_of(caller), &module)) {
    void* own = os::find_exported(module, name);
    if (own != nullptr && own != reinterpret_cast<void*>(acres)) {
      return reinterpret_cast<void (*)(void*, Alignment...)>(own)(p, a...);
    }
  }
  misuse::not_a_block("free", p, caller);
}

void foreign(void* p, const void* caller, size_t) { give_back_to_caller("_ZdlPv", acre_own_delete, p, caller); }
void foreign_array(void* p, const void* caller, size_t) {
  give_back_to_caller("_ZdaPv", acre_own_delete_array, p, caller);
}
void foreign_aligned(void* p, const void* caller, size_t alignment) {
  give_back_to_caller("_ZdlPvSt11align_val_t", acre_own_delete_aligned, p, caller, align_val_t{alignment});
}
void foreign_array_aligned(void* p, const void* caller, size_t alignment) {
  give_back_to_caller("_ZdaPvSt11align_val_t", acre_own_delete_array_aligned, p, caller, align_val_t{alignment});
}

}  // namespace

namespace acre::operators {

void delete_slow(void* p, const void* caller) noexcept { release_slow_or(p, caller, 0, foreign); }
void delete_aligned_slow(void* p, align_val_t a, const void* caller) noexcept {
  release_slow_or(p, caller, static_cast<size_t>(a), foreign_aligned);
}

void delete_other_slow(void* p, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, 0, foreign) : ::operator delete(p);
}
void delete_other_aligned_slow(void* p, align_val_t a, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, static_cast<size_t>(a), foreign_aligned) : ::operator delete(p, a);
}

void delete_array_slow(void* p, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, 0, foreign_array) : ::operator delete(p);
}
void delete_array_aligned_slow(void* p, align_val_t a, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, static_cast<size_t>(a), foreign_array_aligned) : ::operator delete(p, a);
}

void delete_other_array_slow(void* p, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, 0, foreign_array) : ::operator delete[](p);
}
void delete_other_array_aligned_slow(void* p, align_val_t a, const void* caller) noexcept {
  direct::is_on() ? release_slow_or(p, caller, static_cast<size_t>(a), foreign_array_aligned) : ::operator delete[](p, a);
}

}  // namespace acre::operators

#endif
