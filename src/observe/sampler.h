// Watchers: who wants to see some of the allocations, as the heap profiler (sample/) does. The hot paths know nothing
// of them.
//
// A sampler draws for each size class of each heap how many blocks pass unseen. The slow path keeps private lists so
// short that the block to be seen is asked for there. It is a *sampled block*: it comes from a run that no thread
// owns (sampled_run.h), so that its free comes to the slow path by itself, and brings back the *ticket* that the
// sampler gave for it. Large and huge blocks come by in any case; their run has the ticket.
//
// What counts is the block's size, not what was asked for. A change of a block's size is an allocation and a free, as
// far as blocks change at all: realloc within a size class, or within a large block's pages, is nothing.
#pragma once

#include "cache/upcalls.h"

namespace acre::sampler {

struct Sampler {
  // How many blocks of this many bytes are to pass unseen before the next one that is seen. Draws must be without
  // memory: the rest of a gap may be drawn anew at any time. For one block, 0 with the probability that it is to be
  // seen.
  uint64_t (*gap)(size_t block_bytes);

  // The program is given this block, which is to be seen; called by its thread with no lock held. May allocate: the
  // sampler has to expect being called again within. kNoTicket: it need not know of the free. beside: the start of the
  // run that blocks of its class come from for this thread just now, and that this one would most likely have come from
  // had nobody watched; 0: not known, or the block is a run of its own.
  Ticket (*allocated)(const void* block, size_t bytes, Address beside);

  // The block of this ticket is being freed, with no lock held. Comes even when watching has stopped.
  void (*freed)(Ticket ticket);

  // Takes and leaves its locks around a fork, if it has any; else null.
  void (*fork)(ForkStage stage);
};

// There is one sampler in a process; another may follow when there is neither a block of its any more nor a thread that
// it watches. Exact for the calling thread at once: what its
// private lists hold is given up. Others go on with theirs until they are empty. Called again, all gaps are drawn anew.
void start(const Sampler& sampler);

// Frees of sampled blocks are still told.
void stop();

// Whether the calling thread's blocks are seen; it has a heap.
void set_thread(Heap& heap, bool on);
// What threads to come begin with.
void set_new_threads(bool on);
// Whether there are hooks (hooks.h): then sampler::is_on() is true as well, since the slow paths ask that one question.
void set_hooked(bool on);

// Tells a sampler that was ever started.
extern Sampler g_sampler ACRE_HIDDEN;  // written only while no other thread can watch
inline void at_fork(ForkStage stage) {
  if (ACRE_UNLIKELY(g_sampler.fork != nullptr)) g_sampler.fork(stage);
}

}  // namespace acre::sampler
