// Recordings from what other tools have written: heaptrack's files, and plain text with a call of malloc or free a
// line. docs/trace-tools.md describes the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compose.h"
#include "lines.h"

namespace acre::trace {

struct ImportOptions {
  std::string from;  // "-" is stdin
  std::string to;
};

// -> the exit code: 1 if the file could not be read to its end. If it is of neither kind, nothing is left at `to`.
int import(const ImportOptions& options);

// What both kinds share: the lines of one file, and what is said of them.
class Import {
 public:
  Import(Lines& lines, const ImportOptions& options) : lines_(lines), options_(options) {}

 protected:
  // Says what is wrong with the last line. -> false
  bool refuse(const char* what);
  // Says what the file lacks at its end, if it does. -> the exit code
  int conclude(bool whole, const Composer& composer, bool written);

  Lines& lines_;
  const ImportOptions& options_;
};

// first: the first line.
int import_heaptrack(Lines& lines, const ImportOptions& options, std::string_view first);
int import_text(Lines& lines, const ImportOptions& options, std::string_view first);

// The part of a line up to a blank, which is taken off.
std::string_view word_of(std::string_view& line);
// The whole word is a number.
bool parse(std::string_view word, int base, uint64_t& to);

}  // namespace acre::trace
