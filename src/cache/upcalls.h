// What the thread cache calls in the layers above it: src/observe, src/reclaim, src/manual and src/process implement it.
// A file of src/cache includes this header and none of those layers' own.
//
// None of these is on a hot path. A flag here is asked for on the slow paths alone.
#pragma once

#include "base/atomics.h"
#include "cache/lookup.h"

namespace acre {

// --- src/process ----------------------------------------------------------------------------------------------

// start.cc. Starts every module, if that was not done before, on the first allocation or in the library's constructor. A thread
// that comes while another one starts them waits.
void start_process();

// --- src/reclaim ----------------------------------------------------------------------------------------------

// idle.cc. The calling thread is about to make a run of clean pages: free blocks that idle threads keep would serve as well.
void reclaim_while_growing(const Heap& mine);

// last_resort.cc. Memory was refused: gives up all that the calling thread keeps, returns dirty pages if there is a hard
// limit, and waits for pages that other threads are purging. A second attempt may then succeed. No lock is held. The private
// lists of other threads do not change.
void reclaim_before_refusal();
// After a second refusal, for a block of n bytes: unmaps free pages of the arenas, so that the system may map as much in one
// piece. False: there are too few of them.
bool unmap_before_refusal(size_t n, size_t alignment);

// background.cc. The last thread that had a heap has ended. May wait.
void on_last_thread();

// --- src/manual -----------------------------------------------------------------------------------------------

namespace manual {

// For a thread whose heap is not plain, or which has none. True: a tag is in force, or the thread is bound to a manual arena,
// and *block comes from there: null and ENOMEM if it is refused. asked: bytes that the program has asked for.
bool allocate_small(SizeClass c, size_t asked, void** block);
bool allocate_large(size_t n, size_t alignment, bool zeroed, void** block);

// realloc moves the block of `found`, p: the new one, of n bytes, comes from the same manual arena and has the same tag.
void* allocate_beside(const Found& found, const void* p, size_t n);

// Visits the heaps of the manual arena that this run belongs to.
void for_each_heap_of(const Slab* slab, void (*visit)(Heap& heap, void* argument), void* argument);

}  // namespace manual

namespace tags {

// The thread ends, and has heap.tags.
void end_thread(Heap& heap);

// A block of a run with labels is being freed.
void freeing(const Slab* slab, const void* block);

// A large or huge block of the tag: so many bytes more are to live, which the tag's limit may refuse (false); so many bytes
// that were charged were not had after all; so many bytes no longer live, after which the tag may be gone.
bool charge(Tag& tag, size_t bytes);
void discharge(Tag& tag, size_t bytes);
void count_freed(Tag& tag, size_t bytes);
// The most that ever lived, after a block was had with what was charged.
void note_peak(Tag& tag);

}  // namespace tags

// --- src/observe ----------------------------------------------------------------------------------------------

// sampler.cc: the heap profiler's view of allocations.
namespace sampler {

// Whether there is a sampler, or a hook.
extern bool g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return relaxed_load(g_on); }

// Whether threads to come are sampled.
extern std::atomic<bool> g_new_threads ACRE_HIDDEN;
inline bool new_threads() { return g_new_threads.load(std::memory_order_relaxed); }

// While it is on, in place of refill: a sampled block, or one that passes unseen, from the private list, which is filled
// for it. Null when memory is refused.
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

// A run with a ticket is about to be freed; a block of this ticket is gone; the program frees a block of this run.
void freeing_run(Run* run);
void freed(Ticket ticket);
void release(SampledRun* run, void* block);

}  // namespace sampler

// hooks.cc: functions that the program wants to be called for each allocation and each free.
namespace hooks {

extern bool g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return relaxed_load(g_on); }

ACRE_COLD void call_allocated(const void* block, size_t bytes, size_t asked);
ACRE_COLD void call_freeing(const void* block);

// bytes: of the block; asked: what the program has asked for, as far as known.
ACRE_ALWAYS_INLINE void allocated(const void* block, size_t bytes, size_t asked) {
  if (ACRE_UNLIKELY(is_on())) call_allocated(block, bytes, asked);
}
ACRE_ALWAYS_INLINE void freeing(const void* block) {
  if (ACRE_UNLIKELY(is_on())) call_freeing(block);
}

// While there are hooks: the calling thread goes without its heap from now on.
void put_heap_aside(Heap& heap);
// The calling thread goes without its heap, perhaps only for hooks that are gone. True: it has its heap again.
bool take_heap_back();
// The end of a free that came to the slow path.
inline void tick_after_free(Heap& heap) {
  tick(heap);
  if (ACRE_UNLIKELY(is_on())) put_heap_aside(heap);
}

}  // namespace hooks

// fill.cc: the options junk and zero.
namespace fill {

extern bool g_on ACRE_HIDDEN;
inline bool is_on() { return g_on; }

// While blocks are filled: the bytes [from, to) of a block are new to the program. zeroed: they are known to be zero.
void new_bytes(void* block, size_t from, size_t to, bool zeroed);

// While blocks are filled: the program has freed a block.
void freed_block(void* block, size_t bytes);

}  // namespace fill
}  // namespace acre
