// How full the run of a block is, beside the other runs of its class: what a program needs that moves its blocks
// together (active defragmentation, as in Redis and Valkey).
//
// The figures of a single run are of this moment, those of its class of the last epoch (snapshot.h). Any thread may
// call these functions, but no signal handler.
#pragma once

#include <cstddef>

#include "control/nodes.h"
#include "slab/slab_use.h"

namespace acre::ctl {

struct RunFill {
  size_t free = 0;    // blocks that are with no program
  size_t blocks = 0;  // 0: no block starts at that address
  size_t bytes = 0;   // of the run
};

// Null: the block lies in no slab run.
const Slab* slab_of(const void* block);

// A large block and one that the heap profiler has sampled count as a run of one block.
RunFill fill_of(const void* block);

// Whether the calling thread's next small block of this class may come from this run.
bool is_current(const Slab* slab);

// Whether a copy of the block would probably lie in a fuller run: its run has a free block, is not the one that the
// calling thread allocates from, and is at most an eighth fuller than the runs with free blocks of all arenas are on
// average, of which there are at least two.
bool is_worth_moving(const void* block);

// The nodes experimental.utilization.query and batch_query. EINVAL: a buffer has not the size that it should have.
Handler query_utilization, query_utilizations;

// Answers a batch of blocks by this function.
int answer_batch(Call& call, RunFill (*of)(const void* block));

}  // namespace acre::ctl
