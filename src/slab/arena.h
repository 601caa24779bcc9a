// An arena: an independent owner of page runs and bins, with its own locks. Each thread is bound to one arena, but any
// thread may give blocks and runs back to any arena.
#pragma once

#include <atomic>
#include <cstddef>
#include <new>

#include "base/mutex.h"
#include "base/bits.h"
#include "pages/page_heap.h"
#include "slab/bin.h"
#include "tables/size_class.h"

namespace acre {

inline constexpr unsigned kMostArenas = 256;

// Slow-path events in one size class.
struct ClassEvents {
  uint64_t refills = 0;
  uint64_t new_runs = 0;
  uint64_t adoptions = 0;
  uint64_t remote_frees = 0;  // blocks that outboxes sent off
  uint64_t listed = 0;        // blocks put on private lists, less those taken off again

  bool any() const { return (refills | new_runs | adoptions | remote_frees | listed) != 0; }
  void add(const ClassEvents& other) {
    refills += other.refills;
    new_runs += other.new_runs;
    adoptions += other.adoptions;
    remote_frees += other.remote_frees;
    listed += other.listed;
  }
  void subtract(const ClassEvents& other) {  // modulo 2^64: later add() calls make up for it
    refills -= other.refills;
    new_runs -= other.new_runs;
    adoptions -= other.adoptions;
    remote_frees -= other.remote_frees;
    listed -= other.listed;
  }
};

struct Heap;  // cache/heap.h

struct Arena {
  // Guards a manual arena's heaps (manual/manual_arena.h). It is here so that the memory that a fork writes to lies
  // together: this lock, the next fields, and the lock of the pages. The locks of bins lie apart.
  Mutex heaps_lock{Rank::kHeaps};

  // A bit for each class: a run may ever have been in its bin. All are set in automatic arenas, which are few. Other
  // bins are never locked, so that fork need not lock them. Changes under heaps_lock, which fork then holds.
  static constexpr unsigned kClassWords = (kSmallClasses + 63) / 64;
  std::atomic<uint64_t> used_bins[kClassWords] = {};


  unsigned index = 0;
  unsigned threads = 0;  // bound to it; changes under the registry's lock (cache/registry.cc), any thread may read
  Heap* spare_heaps = nullptr;  // of its ended threads, through next; under the registry's lock
  uint64_t made_ms = 0;
  // For each size class, events of threads that have ended; under the registry's lock. In separate memory, which costs
  // nothing until it is touched. Null in arenas of tests.
  ClassEvents* ended = nullptr;

  static constexpr size_t kEndedBytes = kSmallClasses * sizeof(ClassEvents);
  // Made by the program (manual/manual_arena.h): no thread's heap and no other arena takes runs from it.
  bool is_manual = false;
  bool is_labelled = false;  // its slab runs have labels (labels.h)
  // In the hardened mode, which never uses addresses of one class for another: small runs of one class come from here, and
  // nothing else does. A thread is bound to it only if the program says so.
  bool is_of_class = false;
  // One of them, for types with pointers (hardened/tokens.cc): no thread ever owns a run of it between two calls.
  bool is_of_pointers = false;
  Arena* next_manual = nullptr;
  Arena* previous_manual = nullptr;

  PageHeap pages;  // Run::home points to it, and leads to the arena

  // Not written when an arena is made, in zeroed memory: the bin of an unused class takes no memory.
  union {
    Bin bins_[kSmallClasses];
  };
  Bin& bin(SizeClass c) { return bins_[c]; }

  bool uses_bin(SizeClass c) const {
    return (used_bins[c / 64].load(std::memory_order_relaxed) >> (c % 64) & 1) != 0;
  }
  // Called with no lock held before a run may go into the class's bin.
  void note_bin(SizeClass c) {
    if (!uses_bin(c)) add_bin(c);
  }
  void add_bin(SizeClass c);
  template <class Action>
  void for_each_used_bin(Action action) {
    for (unsigned word = 0; word < kClassWords; ++word) {
      uint64_t bits = used_bins[word].load(std::memory_order_relaxed);
      for (; bits != 0; bits &= bits - 1) {
        const SizeClass c = word * 64 + lowest_bit(bits);
        if (c < kSmallClasses) action(bin(c));
      }
    }
  }

  // An arena lies in metadata, which is zeroed.
  Arena() {
    if (!ACRE_DEBUG) return;  // in debug builds, locks have a rank
    for (Bin& bin : bins_) new (&bin) Bin;
  }
};

inline Arena* arena_with(const PageHeap* pages) {
  return reinterpret_cast<Arena*>(reinterpret_cast<Address>(pages) - offsetof(Arena, pages));
}
inline Arena* arena_of(const Slab* slab) { return arena_with(slab->run->home); }
// Null for a huge block that is in no arena.
inline Arena* arena_of(const Run* run) { return run->home == nullptr ? nullptr : arena_with(run->home); }
inline Bin* bin_of(const Slab* slab) { return &arena_of(slab)->bin(slab->size_class); }

namespace arenas {

// A new arena, in no list yet. Null if memory is refused. Automatic arenas never go away.
Arena* make();
// Adds it to the arenas. One caller at a time.
void install(Arena* arena);

// In the hardened mode, the automatic arena for one use; null: none was installed yet. A use is a small class, or
// kOfPointers + a class: its blocks of types with pointers. There kSmallClasses stands for large blocks.
inline constexpr unsigned kOfPointers = kSmallClasses;
inline constexpr unsigned kUses = kOfPointers + kSmallClasses + 1;
Arena* of_use(unsigned use);
// The same as install().
void install_for(unsigned use, Arena* arena);

unsigned count();              // automatic arenas made so far
Arena* at(unsigned index);     // index < count()
unsigned most();               // how many there may be, at least count(); the first call asks the system
bool is_full();                // whether there may be no more; does not ask the system while arenas are few
void look_at_quota();          // reads the cgroup's processor quota, on which most() depends, again

size_t used_pages();           // in all automatic arenas, approximately

// No automatic arena ever has this number or a higher one. The first call asks the system; the value never changes.
unsigned manual_numbers_begin();

// Adds to the number of threads that are bound to the arena. Under the registry's lock.
void count_threads(Arena& arena, int more);

// --- Manual arenas, in use or spare: newest first, through next_manual --------------------------------------

// Held to change the list, and for what manual/manual_arena.cc says.
extern Mutex manual_lock ACRE_HIDDEN;

Arena* first_manual();
void add_manual(Arena* arena) ACRE_REQUIRES(manual_lock);
// Requires that no thread walks over the list, or finds the arena another way.
void remove_manual(Arena* arena) ACRE_REQUIRES(manual_lock);

// While a Walk exists, no arena is taken off the list, and arenas that were on it can be read. For a thread that holds
// no lock of a higher rank than kRegistry; locks held for a fork do not count.
class Walk {
 public:
  Walk();
  ~Walk();
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;
};
bool are_walked() ACRE_REQUIRES(manual_lock);

// All arenas, manual ones included.
template <class Action>
void for_each(Action action) {
  for (unsigned i = 0; i < count(); ++i) action(*at(i));
  if (first_manual() == nullptr) return;
  const Walk walk;
  for (Arena* arena = first_manual(); arena != nullptr; arena = arena->next_manual) action(*arena);
}

// Each call lets dirty pages of one manual arena decay, the next arena in the list each time.
void decay_a_manual(uint64_t now_ms);

// Dirty and muzzy pages of all arenas, approximately.
size_t dirty_pages();

// Called with no lock held after so many clean pages came into use, in an arena or as a huge block. If the process need
// not grow by these pages, purges dirty pages of any arena (pages/purge_for_growth.h).
void grew_by(size_t pages);

// Purges until all arenas together keep at most `keep` dirty and muzzy pages. Returns the number of pages purged.
size_t purge_all(size_t keep = 0);

void at_fork(ForkStage stage);

}  // namespace arenas
}  // namespace acre
