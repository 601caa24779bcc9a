// malloc(0) in the hardened mode: addresses that cannot be read or written. They lie in a reservation of their own, and
// are chosen at random.
#pragma once

#include <cstddef>

namespace acre::hardened::zero_size {

// An address that no other live block has. Null: there is none left, or no address space.
void* allocate();

// Whether p lies in the reservation.
bool contains(const void* p);

// For an address in the reservation: whether it was handed out and not freed since.
bool is_live(const void* p);

// Frees it. Returns false if it was not live.
bool free(void* p);

}  // namespace acre::hardened::zero_size
