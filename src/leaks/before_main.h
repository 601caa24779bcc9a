// Recognizes blocks from before main: those that constructors of the program and its libraries allocated.
//
// Nothing reports when main begins, but stacks show it. In the first thread, every stack of main and of what main calls
// contains the C library's function that calls main. The stacks of constructors do not contain it.
#pragma once

#include "sample/profile.h"

namespace acre::leaks {

// The first function must be called from a constructor, which the loader calls. The second one must be called in the
// first thread, from main or from a handler at the program's end.
void learn_constructors_stack();
void learn_mains_stack();

bool is_from_before_main(const profile::Stack* stack);

}  // namespace acre::leaks
