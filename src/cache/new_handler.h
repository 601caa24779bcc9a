// The program's function that is called when memory for malloc and its kin is refused, as TCMalloc's tc_set_new_mode(1)
// calls C++'s new_handler. Not called for a heap or an arena that the program has named, or for a tag.
#pragma once

#include "base/compiler.h"

namespace acre::new_handler {

// Called with no lock held; may allocate and free. Nonzero: it may have freed memory; the allocation is tried again.
using Handler = int (*)();

void set_handler(Handler handler);  // null: none
bool has_handler();

// Calls the handler. Returns false if there is none, or if it returned 0.
ACRE_COLD bool ask();

}  // namespace acre::new_handler
