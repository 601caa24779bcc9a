// The MallocExtension that is acre.
#pragma once

#include <gperftools/malloc_extension.h>

// There when constructors of other libraries run, and until the process ends.
MallocExtension* acre_extension();
