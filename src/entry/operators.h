// The slow paths of operators new and delete. Each knows the operator that it is built on ([new.delete]), and calls it
// unless the heap may be asked directly (cache/direct.h).
#pragma once

#include <stddef.h>

#include <new>

#include "cache/upcalls.h"

namespace acre::operators {

void* new_slow(size_t n);
void* new_array_slow(size_t n);                   // built on operator new(n)
void* new_nothrow_slow(size_t n) noexcept;        // built on operator new(n)
void* new_array_nothrow_slow(size_t n) noexcept;  // built on operator new[](n)

// The same after the heap has refused, or because the heap must not be asked.
void* new_aligned_refused(size_t n, std::align_val_t a);
void* new_array_aligned_refused(size_t n, std::align_val_t a);
void* new_aligned_nothrow_refused(size_t n, std::align_val_t a) noexcept;
void* new_array_aligned_nothrow_refused(size_t n, std::align_val_t a) noexcept;

// In the hardened mode, for types with pointers.
void* new_for_pointers(const hardened::Request& request);
void* new_for_pointers_nothrow(const hardened::Request& request) noexcept;

// The forms of operator delete.
enum Form : unsigned {
  kObject,              // (p)
  kOtherObject,         // with a size, or nothrow; built on operator delete(p)
  kArray,               // an array: operator delete[](p), built on operator delete(p)
  kOtherArray,          // an array, with a size or nothrow; built on operator delete[](p)
  kAlignedObject,       // the same forms with an alignment
  kOtherAlignedObject,
  kAlignedArray,
  kOtherAlignedArray,
};

// a: for the forms with an alignment. The operator jumps here, so the return address is the program's.
void delete_slow(void* p, Form form, std::align_val_t a) noexcept;
void delete_sized_slow(void* p, size_t n, Form form, std::align_val_t a) noexcept;

// For a delete whose alignment p does not have: ends the program if p is a block of acre's.
void delete_unaligned(void* p, Form form, std::align_val_t a) noexcept;

}  // namespace acre::operators
