// What the operators new and delete do beyond their fast paths. Each knows the operator that it is built on
// ([new.delete]), and calls that one unless the heap may be asked directly (cache/direct.h).
#pragma once

#include <stddef.h>

#include <new>

namespace acre::operators {

void* new_slow(size_t n);
void* new_array_slow(size_t n);                   // built on operator new(n)
void* new_nothrow_slow(size_t n) noexcept;        // on operator new(n)
void* new_array_nothrow_slow(size_t n) noexcept;  // on operator new[](n)

// The same when the heap has refused, or was not to be asked.
void* new_aligned_refused(size_t n, std::align_val_t a);
void* new_array_aligned_refused(size_t n, std::align_val_t a);
void* new_aligned_nothrow_refused(size_t n, std::align_val_t a) noexcept;
void* new_array_aligned_nothrow_refused(size_t n, std::align_val_t a) noexcept;

// Of operator delete.
enum Form : unsigned {
  kObject,              // (p)
  kOtherObject,         // with a size, or nothrow: built on operator delete(p)
  kArray,               // the same for arrays: operator delete[](p), built on operator delete(p),
  kOtherArray,          // and those that are built on operator delete[](p)
  kAlignedObject,       // and all of these with an alignment
  kOtherAlignedObject,
  kAlignedArray,
  kOtherAlignedArray,
};

// a: for those with an alignment. To be reached by jumps from the operator on, so that the return address is the
// program's.
void delete_slow(void* p, Form form, std::align_val_t a) noexcept;

}  // namespace acre::operators
