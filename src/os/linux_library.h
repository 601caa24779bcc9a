// What a shared library exports, found without asking the loader: dlsym takes its lock. Neither function takes a lock; both
// are for signal handlers as well.
#pragma once

namespace acre::os {

// The function of this name that a library exports of which another function is known; null: it has none. Not for functions
// that are chosen when the library is loaded (STT_GNU_IFUNC). The library must not be unloaded meanwhile.
void* find_in_library_of(const void* function, const char* name);

// The same in the library that the kernel maps into each process (the vDSO). Null as well: it maps none, as under valgrind.
void* find_in_kernel_library(const char* name);

}  // namespace acre::os
