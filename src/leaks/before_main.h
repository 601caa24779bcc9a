// Which blocks are from before main: what constructors of the program and its libraries allocated.
//
// Nobody says when main begins, but stacks do. In the first thread all stacks of main and what it calls have the
// function of the C library in common that calls main; those of constructors have not.
#pragma once

#include "sample/profile.h"

namespace acre::leaks {

// From a constructor, which the loader calls; and from a handler at the program's end in the first thread.
void learn_constructors_stack();
void learn_mains_stack();

bool is_from_before_main(const profile::Stack* stack);

}  // namespace acre::leaks
