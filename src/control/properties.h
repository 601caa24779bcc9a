// TCMalloc's numeric properties, by name, and its release rate. docs/tcmalloc.md says what they mean here.
//
// All functions allocate nothing and leave errno alone. Any thread may call them, but no signal handler.
#pragma once

#include <cstddef>

namespace acre::properties {

// Returns false if there is no such property.
bool get(const char* name, size_t* value);

// Returns false if there is no such property, it cannot be set, or the value is out of range.
bool set(const char* name, size_t value);

// Below 0: the option release_rate sets bytes a second, which TCMalloc's rate cannot express.
double release_rate();

// Returns false if the rate is below 0 or not a number. Ends the effect of the option release_rate.
bool set_release_rate(double rate);

}  // namespace acre::properties
