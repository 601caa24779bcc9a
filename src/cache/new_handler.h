// A function of the program's that is asked when memory for malloc and its kin is refused, as TCMalloc's tc_set_new_mode(1)
// wants C++'s new_handler to be. What comes from a heap or an arena that the program has named, or counts for a tag, is
// refused without it.
#pragma once

#include "base/compiler.h"

namespace acre::new_handler {

// Nonzero: it may have made room, and the allocation is tried again. Called with no lock held; may allocate and free.
using Handler = int (*)();

void set_handler(Handler handler);  // null: none
bool has_handler();

// False: there is none, or it has nothing to give.
ACRE_COLD bool ask();

}  // namespace acre::new_handler
