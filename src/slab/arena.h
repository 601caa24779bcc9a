// An arena: an independent owner of page runs and bins, with its own locks. Threads are bound to arenas; any
// thread may give blocks and runs back to any arena.
#pragma once

#include "pages/page_heap.h"
#include "slab/bin.h"
#include "tables/size_class.h"

namespace acre {

inline constexpr unsigned kMostArenas = 256;

// What happened at the slow door in one size class.
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
  PageHeap pages;  // first member: a run's home leads to its arena
  Bin bins[kSmallClasses];
  unsigned index = 0;
  unsigned threads = 0;  // bound to it; under the registry's lock (heap/registry.cc)
  uint64_t made_ms = 0;
  // For each size class, of threads that have ended; under the registry's lock. Apart, since memory that is not touched
  // costs nothing. Null in tests' own arenas.
  ClassEvents* ended = nullptr;

  static constexpr size_t kEndedBytes = kSmallClasses * sizeof(ClassEvents);
};

inline Arena* arena_of(const Slab* slab) { return reinterpret_cast<Arena*>(slab->run->home); }
inline Bin* bin_of(const Slab* slab) { return &arena_of(slab)->bins[slab->size_class]; }

namespace arenas {

// A new arena, known to nobody yet. Arenas never go away. Null when memory is refused.
Arena* make();
// Counts it among the arenas. One caller at a time.
void install(Arena* arena);

unsigned count();              // made so far
Arena* at(unsigned index);     // index < count()
unsigned most();               // how many there may be, at least count(); the first call asks the system
void look_at_quota();          // reads the cgroup's processor quota again, on which most() depends

size_t used_pages();           // in all of them, more or less

// Purges until all arenas together keep at most so many dirty and muzzy pages; returns pages purged.
size_t purge_all(size_t keep = 0);

void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

}  // namespace arenas
}  // namespace acre
