// Labels: a number for each block of a run, beside the run. Every slab run of a labelled arena has them; manual/tags.h
// notes in them which tag a block counts for. The label of a block that is not live means nothing.
#pragma once

#include "base/mutex.h"
#include "slab/geometry.h"
#include "slab/slab.h"

namespace acre::labels {

// For slab::make(): gives the run, of this class, its labels. Returns false if memory is refused.
bool attach(Run* run, SizeClass c);

// Called before the run's pages are returned.
void detach(Run* run, SizeClass c);

// The label of this block, for the thread that allocates or frees it.
inline uint32_t& of(const Slab* slab, const void* block) {
  return slab->run->labels[block_index(slab, address_of(block))];
}

void at_fork(ForkStage stage);

}  // namespace acre::labels
