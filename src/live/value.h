// Values of ctl nodes as text.
#pragma once

#include "base/text.h"
#include "control/nodes.h"
#include "control/output.h"

namespace acre::live {

// Reads a value of this type: true or false; a decimal number, perhaps with K, M, G or T; or a text, which is not
// copied. Returns null, or what is expected.
const char* read_value(ctl::Type type, const char* text, ctl::Value* value);

// Writes a value as JSON.
void write_value(Output& out, ctl::Type type, const ctl::Value& value);

}  // namespace acre::live
