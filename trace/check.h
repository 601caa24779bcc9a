// Whether the events of a file can be true: no block is given out while it lives or freed twice, no thread touches a
// shard of addresses that another one has, and nothing is damaged.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace acre::trace {

struct CheckResult {
  std::string error;  // the file could not be read at all
  uint64_t allocations = 0, frees = 0, resizes = 0, takeovers = 0, syncs = 0, others = 0;
  uint64_t processes = 0, lanes = 0, chunks = 0;
  uint64_t file_bytes = 0, raw_bytes = 0, stored_bytes = 0;  // raw, stored: of events
  uint64_t before = 0;                                       // frees of blocks from before the recording
  uint64_t excused = 0;                                      // what is wrong, and can be for parts that are missing
  uint64_t lost = 0;                                         // events that the program says it could not record
  uint64_t damaged_bytes = 0;
  bool has_index = false;
  uint64_t problems = 0;
  std::vector<std::string> first_problems;

  uint64_t events() const { return allocations + frees + resizes; }
};

CheckResult check_file(const std::string& path);

// Prints it. -> the exit code
int check(const std::string& path, bool json);

}  // namespace acre::trace
