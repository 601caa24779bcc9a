// Labels: a number for each block of a run, beside the run. In an arena that is labelled every slab run has them, so
// that whoever allocates there (manual/tags.h) can write down whose a block is.
//
// What a block that is not live has for a label means nothing.
#pragma once

#include "base/mutex.h"
#include "slab/geometry.h"
#include "slab/slab.h"

namespace acre::labels {

// For slab::make: gives the run, of this class, its labels. False when memory is refused.
bool attach(Run* run, SizeClass c);

// For whoever returns the run's pages.
void detach(Run* run, SizeClass c);

// The label of this block; for whoever allocates or frees it.
inline uint32_t& of(const Slab* slab, const void* block) {
  return slab->run->labels[block_index(slab, address_of(block))];
}

void at_fork(ForkStage stage);

}  // namespace acre::labels
