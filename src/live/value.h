// Values of ctl nodes as text.
#pragma once

#include "base/text.h"
#include "control/nodes.h"
#include "control/output.h"

namespace acre::live {

// Reads a value of this type: true or false; a decimal number, perhaps with K, M, G or T; a text, which stays where it is.
// Null, or what is expected.
const char* read_value(ctl::Type type, const char* text, ctl::Value* value);

// As JSON has it.
void write_value(Output& out, ctl::Type type, const ctl::Value& value);

}  // namespace acre::live
