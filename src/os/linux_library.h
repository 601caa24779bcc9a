// Finds exported functions without the loader, whose dlsym takes a lock. No lock is taken. Async-signal-safe.
#pragma once

namespace acre::os {

// The function of this name exported by the library that `function` is in, or null. Not for functions chosen at load
// time (STT_GNU_IFUNC). The library must not be unloaded meanwhile.
void* find_in_library_of(const void* function, const char* name);

// The same in the library that the kernel maps into a process (the vDSO), but not under valgrind.
void* find_in_kernel_library(const char* name);

}  // namespace acre::os
