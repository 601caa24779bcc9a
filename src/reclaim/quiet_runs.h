// Goes over the runs that no thread owns, and purges the pages inside of those that were quiet for half of the decay
// time (slab/purge.h), in which half of the dirty pages go, too.
//
// A pass goes over the unit table, in steps. It notes each binned run's remote word, and purges a run whose word stays
// the same for that time. The work of a step is bounded by the time since the last one: on ticks at most 16 headers a
// millisecond, and a purge each four. A pass begins a tenth of the decay time after the last one's end, at most a second. Runs
// outside of the window are left out, as are those of manual arenas.
#pragma once

#include "slab/arena.h"

namespace acre::quiet_runs {

// Called with no lock held: a step, if one is due. Returns when the next is due (ms); kNever if the last pass found no run
// that has to wait. times_faster: than on ticks.
uint64_t step(uint64_t now_ms, uint64_t times_faster = 1);

// Runs may come into bins until the pass ends that begins next.
void expect();

// Purges the pages inside of all runs in bins, quiet or not: those of this arena, or of all automatic ones. Returns the
// pages that went back.
size_t purge_all(Arena* only = nullptr);

// Pages of all small runs of automatic arenas at this moment. Reads all lists of free blocks in bins.
struct PageUse {
  size_t runs = 0;
  size_t live = 0;      // a block of the program lies on them; in runs that are not in a bin: pages that were cut
  size_t returned = 0;  // of the others: given back, though something lives in the run
};
PageUse use_of_pages();

}  // namespace acre::quiet_runs
