// Before a request is refused: memory may lack only for a moment, or only because of what the thread itself keeps.
#pragma once

#include <cstddef>

namespace acre {

// Gives up all that the calling thread keeps, returns dirty pages if there is a hard limit, and waits for pages that
// others are just returning to the OS, which are nobody's for that time. Once memory was refused; a second attempt may
// then succeed. No lock is held, and all private lists but the calling thread's are as they were.
void gather_memory();

// Once that was in vain, for a block of n bytes: unmaps free pages of the arenas, so that the system may map as much in
// one piece. False: they are too few, and nothing has changed, or what is worth unmapping of them is.
bool gather_addresses(size_t n, size_t alignment);

}  // namespace acre
