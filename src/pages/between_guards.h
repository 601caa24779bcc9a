// Mappings for acre's own structures, between two pages that cannot be read or written: a program that writes past the
// end of its own memory, or before its start, ends before it reaches them.
#pragma once

#include <cstddef>

#include "base/compiler.h"
#include "base/units.h"
#include "os/os.h"

namespace acre {

ACRE_COLD inline void unmap_between_guards(void* start, size_t bytes) {
  const size_t guard = os::page_bytes();
  os::unmap(static_cast<char*>(start) - guard, align_up(bytes, guard) + 2 * guard);
}

// Zeroed. Null when refused.
inline void* map_between_guards(size_t bytes) {
  const size_t guard = os::page_bytes();
  bytes = align_up(bytes, guard);
  char* const memory = static_cast<char*>(os::reserve(bytes + 2 * guard));
  if (memory == nullptr) return nullptr;
  char* const start = memory + guard;
  if (os::commit(start, bytes)) return start;
  unmap_between_guards(start, bytes);
  return nullptr;
}

}  // namespace acre
