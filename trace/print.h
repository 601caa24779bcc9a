// Events as text or JSON lines, and what is in a file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acre::trace {

struct Range {
  uint64_t first = 0, last = UINT64_MAX;
  bool has(uint64_t value) const { return first <= value && value <= last; }
};

struct PrintOptions {
  std::string path;
  bool json = false;
  bool all = false;                 // also what only readers need: takeovers, syncs, stacks, cuts
  bool stacks = false;              // with the frames of each event's stack
  std::optional<uint32_t> process;  // its number in the file
  std::optional<uint32_t> thread;   // the kernel's number
  std::optional<std::string> tag;   // in force in the event's thread
  std::string kind;                 // a word; empty: all
  std::optional<Range> size;        // of allocations and resizes
  std::optional<Range> address;     // allocations: those that overlap; others: the block's address
  std::optional<double> from, to;   // seconds after the beginning
};

bool is_kind(const std::string& word);

// -> the exit code
int print(const PrintOptions& options);
int info(const std::string& path, bool json);

}  // namespace acre::trace
