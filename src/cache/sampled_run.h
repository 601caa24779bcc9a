// Runs of sampled blocks (sampler.h): cut into blocks of one size class, as slab runs are, but owned by no thread. Blocks
// are allocated and freed one by one, under a lock.
//
// The unit table does not know these runs: the hot path of free finds there a header that is no run's, and the page map
// leads to the true one. Which blocks are free is written beside the run, so that every double free is found.
// Headers are never unmapped and stay with their size class.
#pragma once

#include "base/mutex.h"
#include "pages/run.h"
#include "slab/arena.h"

namespace acre {

struct SampledRun {
  Address base = 0;             // 0: it has no pages now
  Run* run = nullptr;           // its pages
  SampledRun* next = nullptr;   // runs of the class with free blocks, or spare headers
  SampledRun* prev = nullptr;
  uint32_t block_bytes = 0;
  uint16_t capacity = 0;
  uint16_t free = 0;            // blocks
  uint8_t size_class = 0;
  uint64_t* free_bits = nullptr;
  Ticket* tickets = nullptr;    // of live blocks
};

namespace sampled_runs {

// A live block of this class, without a ticket, on pages of this arena if new ones are needed; strict: on none but this
// arena's. Null when memory is refused.
void* allocate(Arena& arena, bool strict, SizeClass c);

// For the start of a live block.
void set_ticket(const void* block, Ticket ticket);

// For anyone: is p the start of a block, live or free?
ACRE_COLD bool is_block_start(const SampledRun* run, const void* p);

// For anyone: is p the start of a block that is live?
bool is_live(const SampledRun* run, const void* p);

// The block's ticket. kDead: it is not live, for instance free already.
inline constexpr Ticket kDead = UINT32_MAX;
Ticket ticket_of(const SampledRun* run, const void* block);

// Frees a live block.
void free(SampledRun* run, void* block);

void at_fork(ForkStage stage);

}  // namespace sampled_runs
}  // namespace acre
