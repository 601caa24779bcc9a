// Reads values of settings.
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

// The position of the first of these characters, or the size.
size_t find_any(Slice text, const char* of);

// Return false if the text is no value of this type or option. The text of a path is copied.
bool parse_number(OptionType type, Slice text, int64_t* value);
bool parse_value(unsigned option, Slice text, int64_t* value);

// The value that a TCMalloc variable gives to its option; kUnset: it leaves the option alone. False: wrong text.
inline constexpr int64_t kUnset = INT64_MIN;
bool parse_synonym(const Synonym& synonym, Slice text, int64_t* value);

// What the value of such a variable should be, for a message.
const char* expected_of(SynonymValue how);

}  // namespace acre
