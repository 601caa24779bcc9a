// What code is mapped where, for whoever turns addresses into names later.
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::report {

struct Mapping {
  Address start = 0;
  Address end = 0;
  uint64_t offset = 0;     // in the file
  bool readable = false;
  bool writable = false;
  bool executable = false;
  char build_id[65] = "";  // in hexadecimal; empty if there is none
  char path[512] = "";     // cut off at its end
};

// Reads /proc/self/maps and visits what can be executed, the lowest first. False: it could not be read. Memory that is
// unmapped meanwhile does no harm.
bool for_each_mapping(void (*visit)(const Mapping& mapping, void* argument), void* argument);

// The same for all that is mapped, without build ids.
bool for_each_part(void (*visit)(const Mapping& mapping, void* argument), void* argument);

}  // namespace acre::report
