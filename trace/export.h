// Events as other tools write them: plain text (import_text.cc), and heaptrack's files (import_heaptrack.cc).
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acre::trace {

struct ExportOptions {
  std::string path;
  std::string format;  // "text" or "heaptrack"
  std::string names;   // a file of lines as kNames has them; empty: none. For heaptrack
  uint32_t process = 0;
  std::optional<double> from, to;  // seconds; blocks from before are there all the same
};

// To stdout. -> the exit code
int export_events(const ExportOptions& options);

}  // namespace acre::trace
