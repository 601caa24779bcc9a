#pragma once

#include <vector>

#include "engine.h"

namespace interleave {

// `large`: too many interleavings for a few seconds; run by name.
struct Case {
  Scenario scenario;
  bool large = false;
};
std::vector<Case> page_map_cases();
std::vector<Case> all_cases();

}  // namespace interleave
