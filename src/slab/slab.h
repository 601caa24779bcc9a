// The header of a slab run: a run that is cut into blocks of one size class.
//
// It has at each time one exclusive holder: the thread that owns it, or, while nobody owns it, whoever takes
// it by a change of its remote word (remote.h). Fields that say "holder" belong to that one; others may read
// them only where it says so. Headers are never unmapped, so that a stale pointer to one can be read.
//
// Accounting (checked by the tests): capacity = used + blocks on `deferred` + blocks not yet carved, where
// used counts the blocks that are with the program, in a private list or in the remote list.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/pairing_heap.h"
#include "base/thread_token.h"
#include "pages/run.h"

namespace acre {

class Bin;

// Where the owner keeps a slab run. kShared: a visitor took it from its owner, see slab::share().
enum class Shelf : uint8_t { kNone, kCurrent, kAdopted, kAvailable, kShared };

// Low 32 bits of an address, as links in free lists are (free_list.h); odd: end of list.
using LowAddress = uint32_t;
inline constexpr LowAddress kEndOfList = 1;

struct alignas(kCacheLine) Slab {
  // Hot: what the owner's free reads and writes.
  ThreadToken owner = kNoThread;      // written by holder; anyone may compare it with himself
  Address base = 0;                   // fixed while blocks live; 0: no slab run
  uint64_t divide = 0;                // geometry.h; fixed while blocks live
  uint64_t limit = 0;                 // geometry.h; holder writes, anyone reads
  LowAddress* free_list = nullptr;    // holder: where blocks go that the owner frees (lifecycle.h)
  LowAddress deferred = kEndOfList;   // holder: blocks freed by owners
  int32_t countdown = 0;              // holder: owner's frees until the slow door; used = countdown + floor
  int32_t floor = 0;
  uint16_t block_bytes = 0;           // fixed
  uint16_t capacity = 0;              // fixed
  uint16_t enough = 0;                // fixed: free blocks that make it worth offering again
  uint16_t carved = 0;                // holder: blocks cut so far, from the run's start
  uint8_t pages = 0;                  // fixed
  uint8_t size_class = 0;             // fixed
  Shelf shelf = Shelf::kNone;         // holder
  bool is_explicit : 1 = false;       // fixed: its arena is (arena.h)
  bool is_labelled : 1 = false;       // fixed: the same (labels.h)
  bool by_outbox : 1 = false;         // fixed: blocks that others free wait in their outboxes

  // Shared: what other threads write.
  alignas(kCacheLine) std::atomic<uint64_t> remote{0};  // remote.h
  ThreadToken last_owner = kNoThread;                   // holder writes, anyone reads
  Bin* binned_in = nullptr;                             // under that bin's lock
  Run* run = nullptr;                                   // its pages
  HeapNode<Slab> node;                                  // bin; the owner's lists use next and prev
  Slab* next = nullptr;                                 // spare headers (unit_table); its last owner's shared runs
};
static_assert(sizeof(Slab) == 2 * kCacheLine, "two cache lines: the owner's and the others'");

}  // namespace acre
