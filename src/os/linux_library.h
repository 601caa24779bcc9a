// What a shared library exports, found without asking the loader: dlsym takes its lock.
#pragma once

namespace acre::os {

// The function of this name that a library exports of which another function is known; null: it has none. Not for functions
// that are chosen when the library is loaded (STT_GNU_IFUNC). The library must not be unloaded meanwhile. Takes no lock; for signal handlers as well.
void* find_in_library_of(const void* function, const char* name);

}  // namespace acre::os
