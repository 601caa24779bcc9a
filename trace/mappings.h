// What names the addresses in a recording: the mappings of each process, and who its parent is, as JSON.
#pragma once

#include <string>

namespace acre::trace {

// -> the exit code
int mappings(const std::string& path);

}  // namespace acre::trace
