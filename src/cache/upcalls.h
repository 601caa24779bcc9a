// The functions of the layers above that the thread cache calls: src/hardened, src/observe, src/reclaim, src/manual and
// src/process define them. Files of src/cache include this header instead of those layers' headers.
//
// None of these functions is on a hot path. Slow paths alone read the flags.
#pragma once

#include "base/atomics.h"
#include "cache/lookup.h"

namespace acre {

// --- src/process ----------------------------------------------------------------------------------------------

// start.cc. Starts all modules, once: on the first allocation or in the library's constructor. Threads that come
// meanwhile wait.
void start_process();

// --- src/reclaim ----------------------------------------------------------------------------------------------

// idle.cc. Called before the calling thread makes a run of clean pages: reclaims blocks that idle threads keep.
void reclaim_while_growing(const Heap& mine);

// last_resort.cc. Called with no lock held when memory was refused; a second attempt may then succeed. Calls the
// program if the soft limit is passed, gives up all that the calling thread keeps, returns dirty pages if there is a
// hard limit, and waits for pages that other threads are purging. The private lists of other threads do not change.
void reclaim_before_refusal();
// Called after a second refusal, for a block of n bytes: unmaps free pages of the arenas, so that the system may map as
// much in one piece. Returns false if they are too few, or if the hard limit refuses.
bool unmap_before_refusal(size_t n, size_t alignment);
// One thread at a time unmaps, and then takes the space: pages that another thread purges meanwhile would not count as
// free, and two threads would each unmap a part of what they need. Waits for a second at most.
class TurnToUnmap {
 public:
  TurnToUnmap();
  ~TurnToUnmap();
  TurnToUnmap(const TurnToUnmap&) = delete;
};

// background.cc. Called when the last thread that had a heap has ended. May wait.
void on_last_thread();

// --- src/manual -----------------------------------------------------------------------------------------------

namespace manual {

// For a thread without a plain heap. True: a tag is in force, or the thread is bound to a manual arena, and *block
// comes from there; null, with ENOMEM, if it is refused. asked: the bytes that the program asked for.
bool allocate_small(SizeClass c, size_t asked, void** block);
bool allocate_large(size_t n, size_t alignment, bool zeroed, void** block);

// For a realloc that moves block p: returns a block of n bytes from the same manual arena, with the same tag.
void* allocate_beside(const Found& found, const void* p, size_t n);

// Calls visit for the heaps of the manual arena that this run belongs to.
void for_each_heap_of(const Slab* slab, void (*visit)(Heap& heap, void* argument), void* argument);

}  // namespace manual

namespace tags {

// Called when a thread ends that has heap.tags.
void end_thread(Heap& heap);

// Called before a block of a run with labels is freed.
void freeing(const Slab* slab, const void* block);

// For large and huge blocks. charge: `bytes` more are to live; false if the tag's limit refuses. discharge: so many
// charged bytes were not obtained. count_freed: so many bytes no longer live; the tag may be reused afterwards.
bool charge(Tag& tag, size_t bytes);
void discharge(Tag& tag, size_t bytes);
void count_freed(Tag& tag, size_t bytes);
// Updates the peak, after charged bytes were obtained.
void note_peak(Tag& tag);

}  // namespace tags

// --- src/observe ----------------------------------------------------------------------------------------------

// sampler.cc: the heap profiler's view of allocations.
namespace sampler {

// Whether there is a sampler, or a hook.
extern bool g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return relaxed_load(g_on); }

// Whether new threads are sampled.
extern std::atomic<bool> g_new_threads ACRE_HIDDEN;
inline bool new_threads() { return g_new_threads.load(std::memory_order_relaxed); }

// While it is on, for malloc if the private list is empty or has to be counted: returns a sampled block, or one from the
// list, which is filled if need be. Null if memory is refused. asked: the bytes that the program asked for, or more.
void* allocate(Heap& heap, SizeClass c, size_t asked);

// While it is on: so many blocks were taken off the private list.
void passed(Heap& heap, SizeClass c, uint32_t blocks);

// Called for each large or huge block that the program gets.
void allocated_run(Run* run);

// sees: whether the sampler has to see a block of so many bytes, not from a private list, that the calling thread is
// about to get. If so, the block needs a run of its own, and seen_run() has to be called.
bool sees(size_t bytes);
void seen_run(Run* run, size_t bytes);
// While it is on: a sampled block on pages of this arena. Null: the sampler does not see the block, or memory is refused.
void* allocate_seen(Heap& heap, Arena& home, SizeClass c);

// freeing_run: before a run with a ticket is freed. freed: when a block with a ticket is freed. release: frees a block
// of this run.
void freeing_run(Run* run);
void freed(const void* block, size_t bytes, Ticket ticket);
void release(SampledRun* run, void* block, const char* name);

}  // namespace sampler

// src/guard: blocks between guard pages.
namespace guard {

// Returns a block of this class that belongs to this page heap's arena. Null: there is no place for it now. Called with
// no lock held.
void* allocate(PageHeap& home, SizeClass c, size_t asked);

// Frees the live block of this run; ends the program if another thread has just done so, or if something was written
// around the block. name: of the function that the program has called.
void free(SampledRun* run, const char* name);

// Whether p lies between guard pages or in one; then `where` says in or beside which block.
struct Where {
  Address block = 0;
  size_t bytes = 0;
  bool is_free = false;
};
bool find(const void* p, Where* where);

// For g_explain (base/fatal.h). about: a place in or beside a block. Says what the guards know of the block, or where
// the heap profiler saw it allocated; then, with the option abort_backtrace, the stack of the calling thread.
void explain(const void* about);

void at_fork(ForkStage stage);

}  // namespace guard

// hooks.cc: functions of the program that are called for each allocation and each free.
namespace hooks {

// After a realloc that neither got nor freed a block.
void resized(const void* block, size_t asked);

// Called when a recording (record/record.h) has ended, with no lock held but those of a fork.
void recording_ended();

// Bits: there are functions of the program, or a trace; there is a recording (record/record.h); the hardened mode.
inline constexpr uint8_t kCalled = 1;
inline constexpr uint8_t kRecorded = 2;
inline constexpr uint8_t kHardened = 4;
extern uint8_t g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return relaxed_load(g_on) != 0; }
ACRE_ALWAYS_INLINE bool are_told() { return (relaxed_load(g_on) & (kCalled | kRecorded)) != 0; }

// From now on all heaps are observed. Called once, before any thread has a heap.
void observe_all();

void call_allocated(const void* block, size_t bytes, size_t asked);
void call_freeing(const void* block);

// bytes: of the block. asked: the bytes that the program asked for, as far as known.
ACRE_ALWAYS_INLINE void allocated(const void* block, size_t bytes, size_t asked) {
  if (ACRE_UNLIKELY(is_on())) call_allocated(block, bytes, asked);
}
ACRE_ALWAYS_INLINE void freeing(const void* block) {
  if (ACRE_UNLIKELY(is_on())) call_freeing(block);
}

// The end of a free on the slow path.
inline void tick_after_free(Heap& heap) {
  tick(heap, true);
  if (ACRE_UNLIKELY(is_on()) && heap.kind == HeapKind::kUsual) heap.set_observed(true);
}

}  // namespace hooks

// src/record: the recorder, which is called where hooks are. heap: the calling thread's, null if it has none.
namespace record {
void* allocated(Heap* heap, const void* block, size_t asked);  // returns block: callers end with the call
void freeing(Heap* heap, const void* block);
// The same, and then release_told(), so that callers end with the call.
void freeing_of_run(Heap& heap, Slab* slab, void* block);
// When a thread ends that has heap.recorder.
void end_thread(Heap& heap);
}

// fill.cc: the options junk and zero, and what the leak checker wants cleared.
namespace fill {

extern bool g_on ACRE_HIDDEN;
inline bool is_on() { return g_on; }

// While blocks are filled: fills the bytes [from, to) of a block, new to the program. zeroed: they are zero already.
void new_bytes(void* block, size_t from, size_t to, bool zeroed);

// While blocks are filled: fills a block that the program has freed.
void freed_block(void* block, size_t bytes);

// Whether blocks that the sampler sees, and large blocks, come out zeroed as far as they are not filled. Without that,
// a pointer of the block's last user looks like a reference to the leak checker until the program writes over it.
extern std::atomic<bool> g_clears_sampled ACRE_HIDDEN;
inline bool clears_sampled() { return g_clears_sampled.load(std::memory_order_relaxed); }
// While that is so: zeroes the bytes [from, to) of a block, new to the program.
ACRE_COLD void clear(void* block, size_t from, size_t to);

}  // namespace fill

// --- src/hardened: the hardened mode -----------------------------------------------------------------------------

namespace hardened {

extern bool g_on ACRE_HIDDEN;
ACRE_ALWAYS_INLINE bool is_on() { return ACRE_UNLIKELY(g_on); }

// The calls below are for the time while it is on.

// n bytes for the program. Null and ENOMEM on failure.
void* allocate(size_t n, Kind kind);
void* allocate_aligned(size_t n, size_t alignment, Kind kind);

// Frees p, which is protected or null. Returns false, with nothing done, if p is another block, or none. kind: what the
// function that was called may free. release_small: for a block of this run, in an automatic arena.
bool release(void* p, const char* caller, Kind kind);
void release_small(Slab* slab, void* p, const char* caller, Kind kind);

// As allocate(), for a type with pointers, whose blocks have addresses of their own.
struct Request {
  size_t n;
  size_t alignment;
  Kind kind;
  bool zeroed = false;
};
void* allocate_for_pointers(const Request& request);
// Whether the block is such a one. A realloc that does not say for what leaves that as it is.
bool is_for_pointers(const Found& found);

// Whether the block has a tail (hardened/tail.h), behind the bytes that the program asked for.
bool is_protected(const Found& found);

// The bytes that the program may use of a live block; and whether so many were asked for.
size_t size_of(const Found& found, const void* p, const char* caller);
bool is_size_of(const Found& found, const void* p, size_t n, size_t alignment, const char* caller);

// Makes a protected block n bytes long. Null, with nothing changed, if another class serves n.
void* reallocate_in_place(const Found& found, void* p, size_t n);

// Whether p is an address for blocks of no bytes, and whether it is live then. check_nothing() ends the program if not.
bool is_nothing(const void* p);
bool is_live_nothing(const void* p);
void check_nothing(const void* p, const char* caller);

// A run for a large block, with a guard page behind it, and before it if its alignment allows. Null: refused.
// home: null, or the arena that the run comes from.
Run* find_guarded_run(size_t n, size_t alignment, Arena* home = nullptr);
// Fills what a large block's pages have behind the bytes that the program asked for, which free and realloc check. Does
// nothing in manual arenas.
void fill_slack(Run* run);
// Ends the program if the slack of a large block in use was written, in a function of this name.
void check_slack(const Run* run, const char* caller);
// Makes the pages of a large block, which was freed, guard pages for a while. They then go back.
void free_guarded_run(Run* run);
// Gives back the pages of all large blocks that were freed.
void give_back_retired();

// Whether the address is in a guard page, in the pages of a large block that was freed, or one for blocks of no bytes; then
// `where` says in or beside which block, as far as is known. For the handler for SIGSEGV: no locks.
bool find_guarded(const void* p, guard::Where* where);

// For a live block. Ends the program if a function of the kind `freed` may not free it.
void set_kind(void* p, Kind kind);
void check_may_free(const Found& found, const void* p, const char* caller, Kind freed);

// For the heap's owner: frees what waits in its quarantine.
void empty_quarantine(Heap& heap);

// For any thread: whether the block waits in the heap's quarantine; and each run with such a block, once for each.
bool holds(const Heap& heap, const void* block);
void for_each_waiting(const Heap& heap, void (*visit)(const Slab* slab, void* argument), void* argument);

}  // namespace hardened

// The bytes that the program may use of a live block at p. caller: named in messages.
inline size_t program_bytes(const Found& found, const void* p, const char* caller) {
  return hardened::is_on() ? hardened::size_of(found, p, caller) : block_bytes(found);
}

}  // namespace acre
