// A thread cache: the runs that a thread owns now, and its outbox of blocks that it freed in runs of others.
//
// The life of a run in a thread cache: the run is *current* for its class while its free blocks fill the class's
// private list. When they are used up, the run is released. When its last owner frees a block in it, the run is
// *adopted*; once enough of it is free, it is *available* to become current again. Adopted and available runs count
// against one bound on bytes for all threads; beyond it, runs are released, oldest first.
//
//   malloc: slot → block                          cache/malloc.h     private list of the class
//     └ slow path: refill → next run              cache/refill.cc    everything else
//   free: unit table → header → private list      cache/free.h       or, if that is full, the run's deferred list
//     └ slow: adopt, outbox, large, misuse        cache/free_slow.cc everything else
#pragma once

#include <cstddef>

#include "base/thread_token.h"
#include "cache/outbox.h"
#include "pages/limit.h"
#include "slab/owner.h"
#include "slab/transitions.h"

namespace acre {

struct ThreadTags;   // manual/tags.cc
struct ManualArena;  // manual/manual_arena.h
namespace record {
struct Recorder;     // record/lanes.h
}
namespace hardened {
class Quarantine;    // hardened/quarantine.h
}

// The private list of one class (private_list.h). Aligned to lie in one cache line.
struct alignas(kListBytes) Slot {
  Link* head = nullptr;
  int32_t room = 0;  // how many more blocks free() may put on the list; malloc adds one, free() takes one off
  int32_t left = 0;  // how many more blocks malloc may take before the slow path counts them
};
static_assert(sizeof(Slot) == kListBytes);

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

struct RunLists {
  Slab* current = nullptr;
  RunList available;
  uint16_t available_count = 0;
  uint16_t low_water = 0;  // least available_count since collection last came to the class
  uint16_t empties = 0;    // available runs whose blocks are all free
  uint16_t bound = 0;      // of the private list, which has bound - room blocks; 0: the list is closed
  int32_t room = 0;        // this and the next: of the slot, when the private list was counted last
  int32_t left = 0;
  uint8_t keep_more = 0;   // how many `empties` to keep, less one: grows when a run was returned and a new one is made
  bool returned = false;   // a run was returned to the page heap since the last new one was made
  bool busy = false;       // blocks went onto the private list since collection last came to the class
  uint8_t times_few = 0;   // how often the heap took a few blocks of a run that it left to others (refill.cc)
  uint32_t unseen = kNotDrawn;  // blocks that pass before a sampled one (observe/sampler.cc)
};

// Small blocks of a class that the thread has allocated and freed, as far as the slow path knows (thread_bytes.h adds
// the rest), and its slow-path events. Each update costs an instruction or two. Counts are modulo 2^64.
struct BlockCounts {
  uint64_t recycled = 0;  // freed by the thread, and put on the private list again
  uint64_t listed = 0;    // other blocks put on the private list, less those taken off it again
  uint64_t freed = 0;     // freed by the thread in runs that it gave up, or given back at once (shared classes)

  uint64_t refills = 0;   // this and the next two: events, for statistics
  uint64_t new_runs = 0;
  uint64_t adoptions = 0;

  uint64_t put_on_list() const { return recycled + listed; }
};

struct ClassUse {
  RunLists lists;
  BlockCounts blocks;

  // False: the thread has neither allocated nor freed a block of the class. One that inherits a run has freed a block,
  // which no other count may show.
  bool is_used() const { return (blocks.refills | blocks.recycled | blocks.freed | blocks.adoptions) != 0; }
};

// Bytes that the thread has allocated and freed (thread_bytes.h); for small blocks, up to the last look().
struct ThreadBytes {
  uint64_t allocated = 0;
  uint64_t freed = 0;
  uint64_t small_allocated = 0;  // part of `allocated`
  uint64_t small_freed = 0;
  int64_t base = 0;              // allocated - freed when the peak was reset
  int64_t peak = 0;              // largest allocated - freed - base since then
  bool is_tracked = false;       // each tick brings the counts and the peak up to date
};

struct Heap;

// The stage of a reclaim by another thread from a heap whose owner seems to be idle (reclaim/idle.h).
enum class Reclaim : uint32_t { kNone, kAnnounced, kUnderWay };

// Where take_kept_runs() goes on: the list, and its run (null: the first). Among shared runs, the last one looked at.
struct TakenUpTo {
  Slab* run = nullptr;
  SizeClass list = 0;
};

// What the program has called, for the recorder, where it is more than malloc or free. Set for observed heaps alone.
enum class CallKind : uint8_t { kPlain = 0, kZeroed = 1, kAligned = 2, kReallocated = 4, kSized = 5 };
struct Call {
  CallKind kind = CallKind::kPlain;
  uint8_t alignment_log2 = 0;
  bool is_told = false;  // an allocation was recorded for it
  size_t asked = 0;
};

// The state of a heap for the slow path and for other threads. Without meaning in the two constant heaps.
struct alignas(kCacheLine) HeapState {
  // The owner's, in one cache line. Reclaimers read it, and write `reclaim` when they announce themselves.
  ThreadToken token = kNoThread;
  Arena* arena = nullptr;
  RunList adopted;
  Slab* shared = nullptr;      // runs that reclaimers took from the heap, through next (slab/reclaim.h)
  size_t kept_pages = 0;       // of adopted and available runs
  uint32_t events = 0;         // slow-path events
  uint32_t grown_by = 0;       // new runs for which give_up_unused() was called
  std::atomic<uint32_t> inside{0};  // 1: the owner is changing its run lists or its outbox
  std::atomic<Reclaim> reclaim{Reclaim::kNone};

  // Under the registry's lock, and what is seldom used.
  Heap* next = nullptr;        // lists of the registry, or of a manual arena
  Heap* prev = nullptr;
  Heap* next_fallback = nullptr;
  uint64_t still_since_ns = 0;      // reclaimers' (idle.cc): time of the first look that saw so many events
  uint32_t events_at_last_look = 0; // reclaimers'
  uint32_t thread = 0;              // the thread's number in the kernel; 0: a fallback heap
  TakenUpTo taken_up_to;            // reclaimers', while a reclaim is announced
  uint64_t manual_life = 0;    // ManualArena::life of `manual` when the thread was bound to it

  size_t allowed_pages = 0;    // this heap's part of the shared bound
  SizeClass next_to_collect = 0;
  uint32_t sampler_epoch = 0;    // epoch in which the lists' `unseen` were drawn
  uint32_t ignored_leaks = 0;        // not 0: blocks that the thread allocates are not leaks (leaks/)
  bool unsampled = false;      // the sampler does not see this thread's blocks
  bool is_diverted = false;    // allocations come from a tag's or a manual arena's runs
  bool bound = false;          // takes runs from its arena alone (registry::enter_fallback_heap)
  ManualArena* manual = nullptr;  // the manual arena that the thread is bound to (manual/binding.h)
  Address caller = 0;          // who allocates a sampled or reported block (known_caller.h); 0: unknown
  ThreadBytes bytes;
  ThreadTags* tags = nullptr;  // set when the thread first has a tag in force
  record::Recorder* recorder = nullptr;  // set when the thread is first recorded
  Call call;
  hardened::Quarantine* quarantine = nullptr;  // stays with the memory; null: none was needed yet
};

// Each call for an observed heap takes the slow path, where hooks are called (observe/hooks.h): malloc finds no private
// list in the table, and free finds a run that the thread seems not to own.
enum class HeapKind : uint8_t { kNone, kUsual, kObserved };

// The private lists. First in a heap, so that a list's place is its distance from the heap.
struct Slots {
  // Always empty, and full. slot_at leads here while a class is unused or the heap is not plain, and list_at
  // (slab/slab.h) for runs of manual arenas and for runs with purged pages.
  Slot none;
  Slot slots[kSmallClasses] = {};
};

// The part of a heap that malloc reads. The t_heap of a thread without a heap points to one of two constant heaps,
// which have empty and full lists, and own no run, so that the hot paths need no null check.
struct alignas(kCacheLine) HotHeap : Slots, HeapState {
  OwnerLives lives;       // its own line: other threads read it, and no later field is written often
  HeapKind kind = HeapKind::kNone;  // kNone in the two constant heaps
  bool is_plain = false;  // malloc's hot path uses the lists: the heap is neither diverted nor observed
  uint8_t slot_at[kTableEntries] = {};  // where the slot for n bytes lies: in steps of kStep bytes

  static constexpr size_t kStep = 8;  // the largest factor that processors multiply by in an address
  static constexpr size_t kStepsPerSlot = sizeof(Slot) / kStep;

  // The private list for blocks of a run.
  Slot& list_of(const Slab* slab) {
    return *reinterpret_cast<Slot*>(reinterpret_cast<char*>(this) + relaxed_load(slab->list_at));
  }

  // Makes slot_at lead to the slot of c, a class that slot_at covers, if the heap is plain.
  void enter_in_table(SizeClass c);
};
static_assert(offsetof(Slots, none) == kNoListAt && offsetof(Slots, slots[1]) == list_at(1));

extern const HotHeap kUninitializedHeap ACRE_HIDDEN;  // a thread that has not allocated yet
extern const HotHeap kTerminatedHeap ACRE_HIDDEN;    // any other thread without a heap in use

// acre's only thread-local variable in release builds: one pointer of initial-exec TLS, so that acre can be dlopened.
extern __thread HotHeap* t_heap __attribute__((tls_model("initial-exec"), visibility("hidden")));

// The part of a heap that is written only when needed: its memory is zero at first, and pages that were never written
// take none. Small classes, which all threads use, lie last, beside the part that malloc reads, where the table begins
// with small sizes. So a thread that uses no others touches a page or two of the four.
struct alignas(kCacheLine) ColdHeap {
  Outbox outbox;
  ClassUse uses[kSmallClasses];  // from the largest class down
};

struct Heap : HotHeap {
  // Returns a heap in new metadata, on which begin() has to be called. Null if memory is refused.
  static Heap* make();
  // The same in kBytes of zeroed memory that begins at a cache line. memory() returns where the memory begins.
  static Heap* in(void* memory) { return reinterpret_cast<Heap*>(static_cast<char*>(memory) + sizeof(ColdHeap)); }
  void* memory() { return &cold(); }
  // begin() is called first, and again after end(), which takes an empty heap.
  void begin();
  void end();
  static constexpr size_t kBytes = sizeof(ColdHeap) + sizeof(HotHeap);

  // As an owner of runs.
  Owner owner() const { return {token, lives.current()}; }

  // For the heap's owner. A heap is diverted while a tag (manual/tags.h) or a binding (manual/binding.h) is in force.
  void set_diverted(bool diverted);

  // For the heap's owner. Gives up all that the heap has.
  void set_observed(bool observed);

  ColdHeap& cold() { return reinterpret_cast<ColdHeap*>(this)[-1]; }
  Outbox& outbox() { return cold().outbox; }
  // Written so that the compiler needs one multiplication. For an index it would need four instructions.
  ClassUse& use(SizeClass c) {
    constexpr ptrdiff_t kFirst = sizeof(ColdHeap) - offsetof(ColdHeap, uses[kSmallClasses - 1]);
    constexpr ptrdiff_t kNext = -static_cast<ptrdiff_t>(sizeof(ClassUse));
    return *reinterpret_cast<ClassUse*>(reinterpret_cast<char*>(this) + c * kNext - kFirst);
  }
  const Outbox& outbox() const { return const_cast<Heap*>(this)->outbox(); }
  const ClassUse& use(SizeClass c) const { return const_cast<Heap*>(this)->use(c); }
};

// The calling thread's heap. Null: it has none, or has put it aside.
inline Heap* heap_if_any() {
  HotHeap* hot = t_heap;
  return hot->kind != HeapKind::kNone ? static_cast<Heap*>(hot) : nullptr;
}

// --- refill.cc ----------------------------------------------------------------------------------------------

// Fills the class's private list, which must be empty. Returns false if memory is refused.
bool refill(Heap& heap, SizeClass c);

// Takes a block of a run that lies in this arena's bin, or of a new one, which goes there: the heap's private list and
// its runs have no part in it. Null if memory is refused.
void* take_past_list(Heap& heap, Arena& home, SizeClass c);

// --- reclaim/tick.cc -----------------------------------------------------------------------------------------------

// Counts a slow-path event. One event in kEventsPerTick is a tick, which calls tick_slow().
inline constexpr uint32_t kEventsPerTick = 32;
// in_free: the C library frees under locks that it takes to make a thread, so that no thread may be made then.
void tick_slow(Heap& heap, bool in_free = false);
inline bool tick_is_due(Heap& heap) {
  relaxed_add(heap.events, 1u);
  return heap.events % kEventsPerTick == 0;
}
inline void tick(Heap& heap, bool in_free = false) {
  if (ACRE_UNLIKELY(tick_is_due(heap))) tick_slow(heap, in_free);
}
// Makes the heap's next slow-path event a tick.
inline void tick_soon(Heap& heap) { relaxed_store(heap.events, heap.events | (kEventsPerTick - 1)); }
inline void tick_soon_if_alarmed(Heap& heap) {
  if (ACRE_UNLIKELY(limit::is_beyond_alarm())) tick_soon(heap);
}

// --- run_lists.cc ---------------------------------------------------------------------------------------------

// Adds a run that the thread has just adopted and has freed a block in. The run may be given up at once.
void keep_adopted(Heap& heap, Slab* slab);

// Takes an available run of this class off its list; null if there is none.
Slab* take_available(Heap& heap, SizeClass c);

// The same for an adopted run in which others have freed so much meanwhile that it is worth it.
Slab* take_adopted(Heap& heap, SizeClass c);

// Gives up the current run of a class, and its private list.
void retire_current(Heap& heap, SizeClass c);

// For the owner, inside OwnerAtWork, before the process grows by a run: reclaims from idle heaps (reclaim/idle.h). Each
// kRunsPerSearch-th call (run_lists.cc) also gives up current runs without live blocks, and the empty runs that are
// kept. Returns false if it gave none up.
bool give_up_unused(Heap& heap);

// One step of thread-cache collection: flushes the outbox, and gives up what a few classes no longer use.
void collect_step(Heap& heap);

// Gives up all blocks and runs of the heap, and its allowance.
void empty_heap(Heap& heap);

// For a reclaimer (reclaim/idle.h): takes the adopted and available runs of which at least `take` quarters are free.
// The owner may free blocks of these runs at the same time. Looks at `most` runs at most, which it counts down, and
// goes on at taken_up_to. Returns false if it has not come to the end.
enum class Take : uint32_t { kAll = 0, kHalfFree = 2, kNearlyFree = 3 };
bool take_kept_runs(Heap& heap, Take take, unsigned& most);

// For the owner: ends the sharing of the runs that reclaimers took from it.
void unshare_runs(Heap& heap);

}  // namespace acre
