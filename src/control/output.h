// Text of any length, passed to a function in parts.
#pragma once

#include "base/text.h"
#include "control/statistics.h"

namespace acre {

using WriteText = void (*)(void* opaque, const char* text);

class Output {
 public:
  Output(WriteText write, void* opaque) : write_(write), opaque_(opaque) {}
  ~Output() { flush(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Up to kMost bytes may be appended to the result.
  static constexpr size_t kMost = 600;
  Text& text() {
    if (part_.size() + kMost >= kPart) flush();
    return part_;
  }

 private:
  static constexpr size_t kPart = 2048;

  void flush() {
    if (part_.size() != 0) write_(opaque_, part_.c_str());
    part_.clear();
  }

  WriteText write_;
  void* opaque_;
  Line<kPart> part_;
};

// Figures that are all zero are left out of the output.
template <class Statistics>
bool all_zero(const Statistics& statistics) {
  for (size_t i = 0; i < sizeof statistics / sizeof(uint64_t); ++i) {
    if (figures_of(statistics)[i] != 0) return false;
  }
  return true;
}

}  // namespace acre
