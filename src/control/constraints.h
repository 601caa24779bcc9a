// Lines of the summary about limits in force and refusals by the system, each only where it applies.
#pragma once

#include "base/text.h"

namespace acre {

void add_constraints(Text& text);

}  // namespace acre
