// An arena: an independent owner of page runs and bins, with its own locks. Threads are bound to arenas; any
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

// What happened at the slow path in one size class.
struct ClassEvents {
  uint64_t refills = 0;
  uint64_t new_runs = 0;
  uint64_t adoptions = 0;
  uint64_t remote_frees = 0;  // blocks that outboxes sent off

  void add(const ClassEvents& other) {
    refills += other.refills;
    new_runs += other.new_runs;
    adoptions += other.adoptions;
    remote_frees += other.remote_frees;
  }
  void subtract(const ClassEvents& other) {  // modulo 2^64: what is added later makes up for it
    refills -= other.refills;
    new_runs -= other.new_runs;
    adoptions -= other.adoptions;
    remote_frees -= other.remote_frees;
  }
};

struct Arena {
  // Guards a manual arena's heaps (manual/manual_arena.h). Here, so that what a fork writes to lies together: but for bins,
  // this, what follows and the lock of the pages.
  Mutex heaps_lock{Rank::kHeaps};

  // Bits for the classes of whose bins a run may ever have been in; all of them in automatic arenas, which are few. Nobody
  // locks another class's bin, so that fork need not either. Changes under the lock before, which fork holds by then.
  static constexpr unsigned kClassWords = (kSmallClasses + 63) / 64;
  std::atomic<uint64_t> used_bins[kClassWords] = {};


  unsigned index = 0;
  unsigned threads = 0;  // bound to it; changes under the registry's lock (cache/registry.cc), anyone reads
  uint64_t made_ms = 0;
  // For each size class, of threads that have ended; under the registry's lock. Apart, since memory that is not touched
  // costs nothing. Null in tests' own arenas.
  ClassEvents* ended = nullptr;

  static constexpr size_t kEndedBytes = kSmallClasses * sizeof(ClassEvents);
  // Made by the program (manual/manual_arena.h): no thread's heap takes runs from it, and no other arena.
  bool is_manual = false;
  bool is_labelled = false;  // its slab runs have labels (labels.h)
  Arena* next_manual = nullptr;
  Arena* previous_manual = nullptr;

  PageHeap pages;  // a run's home leads from it to the arena

  // Not written when an arena is made, in memory that is zero: a class that is not used takes none.
  union {
    Bin bins_[kSmallClasses];
  };
  Bin& bin(SizeClass c) { return bins_[c]; }

  bool uses_bin(SizeClass c) const {
    return (used_bins[c / 64].load(std::memory_order_relaxed) >> (c % 64) & 1) != 0;
  }
  // A run is about to be in the class's bin. No lock is held.
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

  // In metadata only.
  Arena() {
    if (!ACRE_DEBUG) return;  // else they have a rank
    for (Bin& bin : bins_) new (&bin) Bin;
  }
};

// The arena whose pages these are.
inline Arena* arena_with(const PageHeap* pages) {
  return reinterpret_cast<Arena*>(reinterpret_cast<Address>(pages) - offsetof(Arena, pages));
}
inline Arena* arena_of(const Slab* slab) { return arena_with(slab->run->home); }
// Null: a huge block's that is in none.
inline Arena* arena_of(const Run* run) { return run->home == nullptr ? nullptr : arena_with(run->home); }
inline Bin* bin_of(const Slab* slab) { return &arena_of(slab)->bin(slab->size_class); }

namespace arenas {

// A new arena, known to nobody yet. Arenas never go away. Null when memory is refused.
Arena* make();
// Counts it among the arenas. One caller at a time.
void install(Arena* arena);

unsigned count();              // made so far, without manual ones
Arena* at(unsigned index);     // index < count()
unsigned most();               // how many there may be, at least count(); the first call asks the system
bool is_full();                // whether there may be no more; as long as there are few, the system is not asked for it
void look_at_quota();          // reads the cgroup's processor quota again, on which most() depends

size_t used_pages();           // in all of them but manual ones, more or less

// No arena that threads are bound to ever has this number or a higher one. The first call asks the system; it stays the
// same from then on.
unsigned manual_numbers_begin();

// So many threads more are bound to the arena, or fewer. Under the registry's lock.
void count_threads(Arena& arena, int more);

// --- Manual arenas, in use or spare: newest first, through next_manual --------------------------------------

// Held by who changes the list, and what manual/manual_arena.cc says.
extern Mutex manual_lock ACRE_HIDDEN;

Arena* first_manual();
void add_manual(Arena* arena) ACRE_REQUIRES(manual_lock);
// Nobody walks over the list, and nobody finds the arena otherwise.
void remove_manual(Arena* arena) ACRE_REQUIRES(manual_lock);

// As long as there is one, no arena is taken off the list, and all that were on it can be looked at. By any thread that
// holds no lock of a higher rank than kRegistry; a fork counts as none.
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

// Lets dirty pages of the manual arenas decay, of one of them at each call, by turns.
void decay_a_manual(uint64_t now_ms);

// Dirty and muzzy pages of all arenas, more or less.
size_t dirty_pages();

// So many clean pages have just come into use, in an arena or as a huge block: purges dirty pages, of whichever arenas, if
// the process need not grow by these (pages/purge_for_growth.h). Called with no lock held.
void grew_by(size_t pages);

// Purges until all arenas together keep at most so many dirty and muzzy pages; returns pages purged.
size_t purge_all(size_t keep = 0);

void at_fork(ForkStage stage);

}  // namespace arenas
}  // namespace acre
