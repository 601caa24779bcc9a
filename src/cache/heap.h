// A thread cache: the runs that a thread owns right now, and its outbox of blocks freed for others.
//
// Life of a run in it: it is *current* for its class, and its free blocks are the class's private list;
// when they are used up it is released. The first block that its last owner frees in it brings it back as
// *adopted*; once enough of it is free it is *available* to become current again. What is adopted or
// available counts against a byte bound that all threads share; beyond it, runs are released, oldest first.
//
//   malloc: slot → block                          cache/malloc.h     private list of the class
//     └ slow path: refill → next run              cache/refill.cc    everything else
//   free: unit table → header → free list         cache/free.h       blocks of runs that the thread owns: the current
//     |                                                             one's go back on the private list (cache/current.h)
//     └ slow: adopt, outbox, large, misuse        cache/free_slow.cc everything else
#pragma once

#include <cstddef>

#include "base/thread_token.h"
#include "cache/outbox.h"
#include "pages/limit.h"
#include "slab/transitions.h"

namespace acre {

struct ThreadTags;     // tags.cc
struct ManualArena;  // manual_arena.h

// The private list of one class: blocks of its current run. Aligned, so that it lies in one cache line.
struct alignas(16) Slot {
  Address high = 0;               // the blocks' high 32 address bits
  LowAddress head = kEndOfList;
  uint32_t kept = 0;              // at least as many as there are on the list that do not come from the current run; the
                                  // exact number for shared classes (free_slow.cc: keep_block_if)
};

// A list of runs through node.next and node.prev, newest first.
class RunList {
 public:
  bool empty() const { return newest_ == nullptr; }
  Slab* newest() const { return newest_; }
  Slab* oldest() const { return oldest_; }
  void add(Slab* slab);
  void remove(Slab* slab);

 private:
  Slab* newest_ = nullptr;
  Slab* oldest_ = nullptr;
};

inline constexpr uint8_t kMostRunsKept = 32;

inline constexpr uint32_t kNotDrawn = 0;

// What a class's runs do in this heap.
struct RunLists {
  Slab* current = nullptr;
  RunList available;
  uint16_t available_count = 0;
  uint16_t low_water = 0;  // least available_count since the collection last passed
  uint16_t empties = 0;    // available runs whose blocks are all free
  uint8_t keep_more = 0;   // how many of those to keep, less one: grows when they are returned and asked for again
  bool returned = false;   // one was returned to the page heap since a new one was made
  bool busy = false;       // refilled, or freed in place, since the collection last passed; beside the next, for refill
                           // sets both at once
  uint8_t times_few = 0;   // how often a few blocks were taken of a run that was left to others (refill.cc)
  uint32_t unseen = kNotDrawn;  // blocks beyond the private list that pass before a sampled one (sampler.cc)
};

// Small blocks of a class that the thread has allocated and freed, as far as the slow path knows of them
// (thread_bytes.h has the rest), and what it did. Each change costs an instruction or two there. Differences modulo 2^64.
struct BlockCounts {
  uint64_t recycled = 0;  // freed by the thread, and put on the private list since
  uint64_t listed = 0;    // put on the private list otherwise, less those taken off it again
  uint64_t freed = 0;     // freed by the thread in runs that it gave up

  uint64_t refills = 0;   // these three for statistics: not blocks, but how often
  uint64_t new_runs = 0;
  uint64_t adoptions = 0;

  // All that were put on the private list.
  uint64_t put_on_list() const { return recycled + listed; }
};

// What the thread does with a class.
struct ClassUse {
  RunLists lists;
  BlockCounts blocks;

  // False: no block of the class was allocated, nor one freed.
  bool is_used() const { return (blocks.refills | blocks.recycled | blocks.freed) != 0; }
};

// thread_bytes.h: what the thread has allocated and freed. Of small blocks, as of the last look.
struct ThreadBytes {
  uint64_t allocated = 0;
  uint64_t freed = 0;
  uint64_t small_allocated = 0;  // part of `allocated`
  uint64_t small_freed = 0;
  int64_t base = 0;              // allocated - freed when the peak was reset
  int64_t peak = 0;              // most of that difference since
  bool watched = false;          // somebody wants it to be kept up to date, and the peak
};

struct Heap;

// A visit by another thread to a heap whose owner seems to be idle (idle.h).
enum class Reclaim : uint32_t { kNone, kAnnounced, kUnderWay };

// What a thread's slow path, and others, need to know of a heap. Of the constant ones (HotHeap) it says nothing.
struct HeapState {
  ThreadToken token = kNoThread;
  Arena* arena = nullptr;
  RunList adopted;
  Slab* shared = nullptr;      // runs that reclaimers took, through next (slab/reclaim.h)
  size_t kept_pages = 0;       // of adopted and available runs
  size_t allowed_pages = 0;    // this heap's part of the shared bound
  uint32_t events = 0;         // slow-path events
  SizeClass next_to_collect = 0;
  uint32_t grown_by = 0;       // runs for which give_up_unused() was called
  Heap* next = nullptr;        // registry's lists
  Heap* prev = nullptr;
  Heap* next_fallback = nullptr;
  std::atomic<uint32_t> inside{0};  // the owner is at its lists or its outbox
  std::atomic<Reclaim> reclaim{Reclaim::kNone};
  uint32_t events_at_last_look = 0; // reclaimers', under the registry's lock
  uint64_t still_since_ns = 0;      // the same; the first look that saw so many events
  uint32_t sampler_epoch = 0;    // when the lists' `unseen` were drawn
  uint32_t ignored_leaks = 0;        // not 0: what the thread allocates is no leak (leaks/)
  bool unsampled = false;      // the sampler is not to see this thread's blocks
  bool hooked = false;         // put aside for the sake of hooks (hooks.h)
  bool bound = false;          // takes runs from its arena alone (registry::enter_fallback_heap)
  uint64_t manual_life = 0;    // the life of `manual` that is meant
  ManualArena* manual = nullptr;  // the manual arena that the thread is bound to (binding.h)
  Address caller = 0;          // who allocates a block that may be sampled or reported (known_caller.h); 0: not known
  ThreadBytes bytes;
  ThreadTags* tags = nullptr;  // since the thread has first had a tag in force
};

// The part that malloc reads. A thread without a heap points at one of two constant ones, whose lists are
// all empty and which own no run: so the hot paths need no null check.
struct alignas(kCacheLine) HotHeap : HeapState {
  Slot none;              // always empty: where slot_at leads until a class is first used, and while the heap is not plain
  Slot slots[kSmallClasses] = {};
  bool is_heap = false;   // the two constant ones are none
  bool is_plain = false;  // one whose lists serve malloc: not while a tag is in force (tags.h), or the thread is bound
                          // to a manual arena (binding.h)
  uint8_t slot_at[kTableEntries] = {};  // where the slot for n bytes lies: steps from `none` on

  static constexpr size_t kSlotsAt = align_up(sizeof(HeapState), alignof(Slot));
  static constexpr size_t kStep = 8;  // by no more do processors multiply in an address
  static constexpr size_t kStepsPerSlot = sizeof(Slot) / kStep;

  // Leads malloc to the slot of a class that the table reaches, if the heap is plain.
  void enter_in_table(SizeClass c);
};

extern const HotHeap kUninitializedHeap ACRE_HIDDEN;  // a thread that has not allocated yet
extern const HotHeap kTerminatedHeap ACRE_HIDDEN;    // a thread whose heap was taken down, or that has none (fill.h)

// One pointer of initial-exec TLS is all that acre needs, so that it can also be dlopened.
extern __thread HotHeap* t_heap __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The part of a heap that begins as zeros, as its memory comes, and is not touched before it is needed: pages in which
// nothing was ever written take no memory. Small classes, which all threads use, lie last, beside the part that malloc
// reads, in whose table sizes of small classes lie first: a thread that needs no more has a page or two of the four.
struct alignas(kCacheLine) ColdHeap {
  Outbox outbox;
  ClassUse uses[kSmallClasses];  // from the largest class down
};

struct Heap : HotHeap {
  // A heap that is still to begin, in new metadata. Null when memory is refused.
  static Heap* make();
  // The same in kBytes of zeroed memory, which begins at a cache line; and where that begins.
  static Heap* in(void* memory) { return reinterpret_cast<Heap*>(static_cast<char*>(memory) + sizeof(ColdHeap)); }
  void* memory() { return &cold(); }
  // begin() comes first, and again after end(), which takes an empty heap.
  void begin();
  void end();
  static constexpr size_t kBytes = sizeof(ColdHeap) + sizeof(HotHeap);

  // Leads malloc to the heap's lists, or away from them. By its owner.
  void set_plain(bool plain);

  // It lies right before the rest.
  ColdHeap& cold() { return reinterpret_cast<ColdHeap*>(this)[-1]; }
  Outbox& outbox() { return cold().outbox; }
  // Written so that the compiler takes one multiplication; by an index it takes four instructions.
  ClassUse& use(SizeClass c) {
    constexpr ptrdiff_t kFirst = sizeof(ColdHeap) - offsetof(ColdHeap, uses[kSmallClasses - 1]);
    constexpr ptrdiff_t kNext = -static_cast<ptrdiff_t>(sizeof(ClassUse));
    return *reinterpret_cast<ClassUse*>(reinterpret_cast<char*>(this) + c * kNext - kFirst);
  }
  const Outbox& outbox() const { return const_cast<Heap*>(this)->outbox(); }
  const ClassUse& use(SizeClass c) const { return const_cast<Heap*>(this)->use(c); }
};

// The calling thread's heap, or null if it has none.
inline Heap* heap_if_any() {
  HotHeap* hot = t_heap;
  return hot->is_heap ? static_cast<Heap*>(hot) : nullptr;
}

// --- refill.cc ----------------------------------------------------------------------------------------------

// Fills the class's private list, which must be empty. False when memory is refused.
bool refill(Heap& heap, SizeClass c);

// --- reclaim/tick.cc -----------------------------------------------------------------------------------------------

// Counts a slow-path event; every so often a step of collection or decay follows.
inline constexpr uint32_t kEventsPerTick = 32;
void tick_slow(Heap& heap);
inline bool tick_is_due(Heap& heap) {
  relaxed_add(heap.events, 1u);
  return heap.events % kEventsPerTick == 0;
}
inline void tick(Heap& heap) {
  if (ACRE_UNLIKELY(tick_is_due(heap))) tick_slow(heap);
}
// The heap's next slow-path event is a tick.
inline void tick_soon(Heap& heap) { relaxed_store(heap.events, heap.events | (kEventsPerTick - 1)); }
inline void tick_soon_if_alarmed(Heap& heap) {
  if (ACRE_UNLIKELY(limit::is_beyond_alarm())) tick_soon(heap);
}

// --- run_lists.cc ---------------------------------------------------------------------------------------------

// The calling thread has just become the owner of a run again, and has freed a block in it. The run may be
// given up at once.
void keep_adopted(Heap& heap, Slab* slab);

// Takes an available run of this class off its list; null if there is none.
Slab* take_available(Heap& heap, SizeClass c);

// The same for an adopted one, if others have freed so much in it meanwhile that it is worth it.
Slab* take_adopted(Heap& heap, SizeClass c);

// Puts a list of blocks of the class's current run, taken off the private list, back: deferred again.
void put_back(Heap& heap, Slab* current, LowAddress list);

// Gives up the current run of a class, its private list included.
void retire_current(Heap& heap, SizeClass c);

// The process is about to grow by a run. Looks at idle heaps (idle.h); and each time that it has grown by a number of runs,
// gives up the current ones in which nothing lives, and the empty ones that are kept. False: none were. Called by the
// owner, busy at its lists.
bool give_up_unused(Heap& heap);

// One step of thread-cache collection: flushes the outbox, retires what a few classes no longer use.
void collect_step(Heap& heap);

// Gives up everything.
void empty_heap(Heap& heap);

// Gives up those runs but the current ones of which so many quarters are free at least. For a reclaimer (idle.h): the owner
// may at the same time free blocks of these runs.
enum class Take : uint32_t { kAll = 0, kHalfFree = 2, kNearlyFree = 3 };
void take_kept_runs(Heap& heap, Take take);

// The owner, awake again, ends the sharing of the runs that reclaimers took from it.
void unshare_runs(Heap& heap);

}  // namespace acre
