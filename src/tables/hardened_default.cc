// Compiled once more, with ACRE_HARDENED, for libacre-hardened.so. All other objects are the same in both libraries.
#include "tables/options.h"

namespace acre {

#ifdef ACRE_HARDENED
const bool kHardenedByDefault = true;
#else
const bool kHardenedByDefault = false;
#endif

}  // namespace acre
