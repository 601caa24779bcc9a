// Stacks behind a line about misuse: where the block was allocated and freed, and the stack of the call.
#pragma once

#include "base/units.h"

namespace acre::guard {

// explain() is declared in cache/upcalls.h.

// Writes the stacks of the guarded block that lies here or next to it.
void write_stacks_of(Address a);

// Writes the stack of a thread that a signal has interrupted at this place. May be called by the handler alone.
void write_interrupted_stack(Address code);

}  // namespace acre::guard
