// Guard pages in slab runs, in the hardened mode: the last page of a run has no blocks, and cannot be read or written. So
// a program that runs out of a run's blocks, at either end, comes to a guard or to another class's arena.
#pragma once

#include "slab/slab.h"
#include "tables/size_class.h"

namespace acre::guard_pages {

inline constinit bool g_on ACRE_HIDDEN = false;
ACRE_ALWAYS_INLINE bool are_on() { return g_on; }

// From now on runs have guards, if the OS has acre's page size. Called once, before the first run is made.
void start();

// At the start of an arena for one class: a unit without a run, since its first run has none with a guard before it.
void begin_arena(PageHeap& pages);

// For a run in the making. Returns how many blocks it has.
uint16_t begin(Run* run, const RunShape& shape);

// Makes the pages of a run of any kind usable again, before they go back. False: the system refuses. Then the run has no
// user any more, and goes back later.
bool lift(Run* run);

}  // namespace acre::guard_pages
