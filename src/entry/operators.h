// What the operators new and delete do beyond their fast paths. Each knows the operator that it is built on ([new.delete]),
// and calls that one unless the heap may be asked directly (heap/direct.h).
//
// caller: where the program goes on after its call.
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

// operator delete(p), which is built on none.
void delete_slow(void* p, const void* caller) noexcept;
void delete_aligned_slow(void* p, std::align_val_t a, const void* caller) noexcept;

// Other forms for one object: built on operator delete(p).
void delete_other_slow(void* p, const void* caller) noexcept;
void delete_other_aligned_slow(void* p, std::align_val_t a, const void* caller) noexcept;

// operator delete[](p): built on operator delete(p).
void delete_array_slow(void* p, const void* caller) noexcept;
void delete_array_aligned_slow(void* p, std::align_val_t a, const void* caller) noexcept;

// Other forms for arrays: built on operator delete[](p).
void delete_other_array_slow(void* p, const void* caller) noexcept;
void delete_other_array_aligned_slow(void* p, std::align_val_t a, const void* caller) noexcept;

}  // namespace acre::operators
