// Runs of sampled blocks (observe/sampler.h). They are cut into blocks of one size class, as slab runs are, but no
// thread owns them. Blocks are allocated and freed one by one, under a lock.
//
// The unit table does not know these runs: it names a header that the block is not of, which free rejects, and the page
// map names the right one. Free blocks are noted beside the run, so that every double free is found. Headers are never
// unmapped and stay with their size class.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/mutex.h"
#include "pages/run.h"
#include "slab/arena.h"

namespace acre {

struct SampledRun {
  Address base = 0;             // 0: the header has no pages now
  Run* run = nullptr;           // its pages
  SampledRun* next = nullptr;   // runs of the class with free blocks, or spare headers
  SampledRun* prev = nullptr;
  uint32_t block_bytes = 0;
  uint16_t capacity = 0;
  uint16_t free = 0;            // number of free blocks
  uint8_t size_class = 0;
  bool is_guarded = false;      // one block between guard pages (guard/slots.h). Then `base` is the block's
  uint32_t asked = 0;           // guarded: so many of the block's bytes the program may know to be its own
  uint64_t* free_bits = nullptr;
  Ticket* tickets = nullptr;    // of live blocks
};

namespace sampled_runs {

// The program has asked which size blocks get (nallocx), and may use all of it. Then `asked` is the whole block.
extern std::atomic<bool> g_are_sizes_told ACRE_HIDDEN;

// Allocates a block of this class, without a ticket. strict: the block lies on pages of this arena; otherwise new pages
// come from this arena if it has any. Null if memory is refused.
void* allocate(Arena& arena, bool strict, SizeClass c);

// block: the start of a live block.
void set_ticket(const void* block, Ticket ticket);

// For any thread: whether p is the start of a block, live or free.
ACRE_COLD bool is_block_start(const SampledRun* run, const void* p);

// Whether the header is that of this run, which is in use.
inline bool is_of(const SampledRun* sampled, const Run* run) {
  return sampled != nullptr && racy_load(sampled->base) - racy_load(run->base) < racy_load(run->pages) * kPageBytes;
}

// For any thread: whether p is the start of a live block.
bool is_live(const SampledRun* run, const void* p);

// The block's ticket. kDead: the block is not live.
inline constexpr Ticket kDead = UINT32_MAX;
Ticket ticket_of(const SampledRun* run, const void* block);

// Frees a live block.
void free(SampledRun* run, void* block);

void at_fork(ForkStage stage);

}  // namespace sampled_runs
}  // namespace acre
