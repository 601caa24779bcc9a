// What holds acre back: limits, and what the system has refused. Lines of the summary, each only where it applies.
#pragma once

#include "base/text.h"

namespace acre {

void add_constraints(Text& text);

}  // namespace acre
