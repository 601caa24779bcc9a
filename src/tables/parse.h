// Values of settings, as text.
#pragma once

#include <string.h>

#include "tables/options.h"
#include "tables/synonyms.h"

namespace acre {

struct Slice {
  const char* start;
  size_t size;
  bool is(const char* s) const { return strlen(s) == size && memcmp(s, start, size) == 0; }
  Slice from(size_t at) const { return {start + at, size - at}; }
};

// Where the first of these characters stands; the size if none does.
size_t find_any(Slice text, const char* of);

// False: the text is no value of this type, or of this option. The text of a path is copied.
bool parse_number(OptionType type, Slice text, int64_t* value);
bool parse_value(unsigned option, Slice text, int64_t* value);

// The value of an option that one of TCMalloc's variables sets; kUnset if the variable leaves the option as it is.
inline constexpr int64_t kUnset = INT64_MIN;
bool parse_synonym(const Synonym& synonym, Slice text, int64_t* value);

// What such a variable's value should be, for a message.
const char* expected_of(SynonymValue how);

}  // namespace acre
