// TCMalloc's numeric properties, by name, and its release rate. docs/tcmalloc.md says what they mean here.
//
// All functions may be called from any thread, but not from signal handlers; they allocate nothing and leave errno
// alone.
#pragma once

#include <cstddef>

namespace acre::properties {

// False: there is no such property.
bool get(const char* name, size_t* value);

// False: there is no such property, it cannot be set, or the value is out of range.
bool set(const char* name, size_t value);

// Below 0: memory goes back at so many bytes a second (the option release_rate), which is no such rate.
double release_rate();

// False: it is below 0 or no number. Ends the effect of the option release_rate.
bool set_release_rate(double rate);

}  // namespace acre::properties
