// The sampler sees some of the allocations, for the heap profiler (sample/). The hot paths do not know about it.
//
// A sampler draws, for each size class of each heap, how many blocks pass unseen. The slow path keeps private lists so
// short that the next block to be seen is asked for there. That block is a *sampled block*: it comes from a run that no
// thread owns (cache/sampled_run.h), so that its free takes the slow path by itself, and brings back the *ticket* that
// the sampler gave for it. Large and huge blocks take the slow path in any case; their run has the ticket.
//
// What counts is the block's size, not the size asked for. A change of a block's size is an allocation and a free, if
// the block changes at all: realloc within a size class, or within a large block's pages, is neither.
#pragma once

#include "cache/upcalls.h"

namespace acre::sampler {

// Whom a block is for that is due.
inline constexpr uint8_t kForProfile = 1;  // allocated() has to be called for it
inline constexpr uint8_t kForGuards = 2;   // it is to lie between guard pages (guard/guards.h)

struct Sampler {
  // How many blocks of this many bytes pass unseen before the next one that is seen. Draws must have no memory: the
  // rest of a gap may be drawn anew at any time. For a single block: 0 with the probability that it is seen.
  uint64_t (*gap)(size_t block_bytes);

  // Called by the thread that gets this block, which is seen, with no lock held. May allocate, and may be called again
  // within. Returns a ticket, or kNoTicket if the sampler need not know of the free. beside: the start of the run that
  // the block would most likely have come from without the sampler; 0: not known, or the block is a run of its own.
  Ticket (*allocated)(const void* block, size_t bytes, Address beside);

  // Called with no lock held when the block of this ticket is freed, even after stop().
  void (*freed)(Ticket ticket);

  // Called once for a block for which gap() was up: kForProfile and kForGuards, as bits; 0 if neither wants it any more.
  // Null: all are for the profile.
  uint8_t (*due)(size_t block_bytes) = nullptr;
};

// There is one sampler in a process. Another may follow when no block of the first one lives and no thread is sampled
// any more. Exact at once for the calling thread, which gives up its private lists; others use theirs up first. Another
// call draws all gaps anew. most: no larger block is seen, and larger ones are as if there were no sampler.
void start(const Sampler& sampler, size_t most = SIZE_MAX);

// The sampler is still told of frees of sampled blocks.
void stop();

// Whether the blocks of the calling thread, which has this heap, are seen.
void set_thread(Heap& heap, bool on);
// Whether the blocks of new threads are seen.
void set_new_threads(bool on);
// Whether there are hooks (hooks.h): sampler::is_on() is then true, too, since slow paths check that alone.
void set_hooked(bool on);

// Functions of the program's that are told of sampled blocks while the heap profiler runs, as in jemalloc's
// experimental.hooks: called with no lock held, by the thread that allocates or frees the block, for a free before
// another thread can get the block. They may allocate, and see no blocks of their own. Null: none.
using SampledHook = void(const void* block, size_t bytes, void** frames, unsigned count, size_t usable_bytes);
using FreedHook = void(const void* block, size_t bytes);
inline constinit std::atomic<SampledHook*> g_on_sampled{nullptr};
inline constinit std::atomic<FreedHook*> g_on_freed{nullptr};

extern Sampler g_sampler ACRE_HIDDEN;  // written only while no other thread can be sampled

// If a sampler was ever started: takes and leaves the locks of src/sample and src/guard around a fork.
void sample_at_fork(ForkStage stage);  // sample/profile.cc
inline void at_fork(ForkStage stage) {
  if (ACRE_UNLIKELY(g_sampler.gap != nullptr)) sample_at_fork(stage);
}

}  // namespace acre::sampler
