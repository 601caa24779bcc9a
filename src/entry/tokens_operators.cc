// operator new with allocation tokens: clang's names are the mangled ones behind __alloc_token_.
#include "cache/direct.h"
#include "entry/operators.h"
#include "entry/tokens.h"

#if !ACRE_PREFIX_ONLY

using namespace acre;
using std::align_val_t;
using std::nothrow_t;

namespace {

// An operator that the program has replaced is called as without tokens.
bool is_ours(bool is_apart) { return is_apart && direct::is_on(); }

ACRE_APART void* new_for(bool is_apart, size_t n) {
  return is_ours(is_apart) ? operators::new_for_pointers({n, 1, Kind::kNew}) : ::operator new(n);
}
ACRE_APART void* new_array_for(bool is_apart, size_t n) {
  return is_ours(is_apart) ? operators::new_for_pointers({n, 1, Kind::kNewArray}) : ::operator new[](n);
}
ACRE_APART void* new_nothrow_for(bool is_apart, size_t n, const nothrow_t& nothrow) noexcept {
  return is_ours(is_apart) ? operators::new_for_pointers_nothrow({n, 1, Kind::kNew}) : ::operator new(n, nothrow);
}
ACRE_APART void* new_array_nothrow_for(bool is_apart, size_t n, const nothrow_t& nothrow) noexcept {
  if (!is_ours(is_apart)) return ::operator new[](n, nothrow);
  return operators::new_for_pointers_nothrow({n, 1, Kind::kNewArray});
}

ACRE_APART void* new_aligned_for(bool is_apart, size_t n, align_val_t a) {
  if (!is_ours(is_apart)) return ::operator new(n, a);
  return operators::new_for_pointers({n, static_cast<size_t>(a), Kind::kNewAligned});
}
ACRE_APART void* new_array_aligned_for(bool is_apart, size_t n, align_val_t a) {
  if (!is_ours(is_apart)) return ::operator new[](n, a);
  return operators::new_for_pointers({n, static_cast<size_t>(a), Kind::kNewArrayAligned});
}
ACRE_APART void* new_aligned_nothrow_for(bool is_apart, size_t n, align_val_t a, const nothrow_t& nothrow) noexcept {
  if (!is_ours(is_apart)) return ::operator new(n, a, nothrow);
  return operators::new_for_pointers_nothrow({n, static_cast<size_t>(a), Kind::kNewAligned});
}
ACRE_APART void* new_array_aligned_nothrow_for(bool is_apart, size_t n, align_val_t a,
                                               const nothrow_t& nothrow) noexcept {
  if (!is_ours(is_apart)) return ::operator new[](n, a, nothrow);
  return operators::new_for_pointers_nothrow({n, static_cast<size_t>(a), Kind::kNewArrayAligned});
}

}  // namespace

#pragma GCC diagnostic ignored "-Wmissing-declarations"

extern "C" {

ACRE_TOKENS(void*, _Znwm, new_for, (size_t n), (n))
ACRE_TOKENS(void*, _Znam, new_array_for, (size_t n), (n))
ACRE_TOKENS(void*, _ZnwmRKSt9nothrow_t, new_nothrow_for, (size_t n, const nothrow_t& nothrow), (n, nothrow))
ACRE_TOKENS(void*, _ZnamRKSt9nothrow_t, new_array_nothrow_for, (size_t n, const nothrow_t& nothrow), (n, nothrow))
ACRE_TOKENS(void*, _ZnwmSt11align_val_t, new_aligned_for, (size_t n, align_val_t a), (n, a))
ACRE_TOKENS(void*, _ZnamSt11align_val_t, new_array_aligned_for, (size_t n, align_val_t a), (n, a))
ACRE_TOKENS(void*, _ZnwmSt11align_val_tRKSt9nothrow_t, new_aligned_nothrow_for,
            (size_t n, align_val_t a, const nothrow_t& nothrow), (n, a, nothrow))
ACRE_TOKENS(void*, _ZnamSt11align_val_tRKSt9nothrow_t, new_array_aligned_nothrow_for,
            (size_t n, align_val_t a, const nothrow_t& nothrow), (n, a, nothrow))

}  // extern "C"

#endif
