// Watchers: who wants to see some of the allocations, as the heap profiler (sample/) does. The hot paths know nothing
// of them.
//
// A watcher draws for each size class of each heap how many blocks pass unseen. The slow door keeps private lists so
// short that the block to be seen is asked for there. It is a *watched block*: it comes from a run that no thread
// owns (watched_run.h), so that its free comes to the slow path by itself, and brings back the *ticket* that the
// watcher gave for it. Large and huge blocks come by in any case; their run has the ticket.
//
// What counts is the block's size, not what was asked for. A change of a block's size is an allocation and a free, as
// far as blocks change at all: realloc within a size class, or within a large block's pages, is nothing.
#pragma once

#include "heap/heap.h"

namespace acre::watch {

enum class ForkStage { kBefore, kInParent, kInChild };

struct Watcher {
  // How many blocks of this many bytes are to pass unseen before the next one that is seen. Draws must be without
  // memory: the rest of a gap may be drawn anew at any time. For one block, 0 with the probability that it is to be
  // seen.
  uint64_t (*gap)(size_t block_bytes);

  // The program is given this block, which is to be seen; called by its thread with no lock held. May allocate: the
  // watcher has to expect being called again within. kNoTicket: it need not know of the free. beside: the start of the
  // run that blocks of its class come from for this thread just now, and that this one would most likely have come from
  // had nobody watched; 0: not known, or the block is a run of its own.
  Ticket (*allocated)(const void* block, size_t bytes, Address beside);

  // The block of this ticket is being freed, with no lock held. Comes even when watching has stopped.
  void (*freed)(Ticket ticket);

  // Takes and leaves its locks around a fork, if it has any; else null.
  void (*fork)(ForkStage stage);
};

// There is one watcher in a process; another may follow when there is neither a block of its any more nor a thread that
// it watches. Exact for the calling thread at once: what its
// private lists hold is given up. Others go on with theirs until they are empty. Called again, all gaps are drawn anew.
void start(const Watcher& watcher);

// Frees of watched blocks are still told.
void stop();

// Whether the calling thread's blocks are seen; it has a heap.
void set_thread(Heap& heap, bool on);
// What threads to come begin with.
void set_new_threads(bool on);
extern std::atomic<bool> g_new_threads ACRE_HIDDEN;
inline bool new_threads() { return g_new_threads.load(std::memory_order_relaxed); }

// --- For the slow door ----------------------------------------------------------------------------------------

extern bool g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return relaxed_load(g_on); }

// Whether there are hooks (hooks.h): then all that asks whether it is on comes here, too.
void set_hooked(bool on);

// While it is on, in place of refill: a watched block, or, from the private list that was empty and is filled now, one
// that passes unseen. Null and ENOMEM when memory is refused.
void* allocate(Heap& heap, SizeClass c);

// While it is on: how many blocks may go on the private list before one is to be seen; that so many went there; and whether
// one more that is freed may, which is counted then.
uint32_t may_pass(Heap& heap, SizeClass c);
void passed(Heap& heap, SizeClass c, uint32_t blocks);
bool may_keep(Heap& heap, SizeClass c);

// The program is given this large or huge block.
void allocated_run(Run* run);

// Is a block of so many bytes to be seen that the calling thread is about to get, and not from a private list? If so, it
// has to have a run of its own, and seen_run() is told.
bool sees(size_t bytes);
void seen_run(Run* run, size_t bytes);

// It is about to be freed, and has a ticket.
void freeing_run(Run* run);

// Tells a watcher that was ever started.
extern Watcher g_watcher ACRE_HIDDEN;  // written only while no other thread can watch
inline void at_fork(ForkStage stage) {
  if (ACRE_UNLIKELY(g_watcher.fork != nullptr)) g_watcher.fork(stage);
}

// A block of this ticket is gone.
void freed(Ticket ticket);

// The program frees a block of this run.
void release(WatchedRun* run, void* block);

}  // namespace acre::watch
