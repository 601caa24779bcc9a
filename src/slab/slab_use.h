// How the blocks of a slab run are used, at some moment. Other threads change it meanwhile, so counts are kept in
// bounds.
#pragma once

#include "slab/word.h"
#include "tables/size_class.h"

namespace acre {

struct SlabUse {
  size_t block_bytes = 0;    // 0: it is no slab run any more
  SizeClass size_class = 0;
  RunState state = RunState::kOwned;
  uint32_t capacity = 0;     // blocks that the run has: a guard page may take some of the shape's
  uint32_t live = 0;         // with the program, on a private list or in an outbox
  uint32_t deferred = 0;     // free, in an owned run: freed by the owner
  uint32_t remote = 0;       // free, in an owned run: freed by others, not collected yet
  uint32_t uncarved = 0;     // free, in an owned run: never carved
  uint32_t unowned = 0;      // free, in a run that no thread owns
  uint32_t free() const { return deferred + remote + uncarved + unowned; }
};
SlabUse use_of(const Slab* slab);

}  // namespace acre
