// The header of a slab run: a run that is cut into blocks of one size class. Headers are never unmapped, so that a
// stale pointer to one can be read.
//
// THE OWNERSHIP PROTOCOL. Only this folder writes a header; a thread cache also writes the links `node` and `next`. A
// run's state is in its remote word (word.h), and each change of state is one compare-and-swap of that word.
//
//   state           who may use the header's plain fields (holder)  where the run is
//   owned           its owner (*)                                   the owner's thread cache
//   full            no thread                                       in no list: too few of its blocks are free
//   binned          the thread that has locked its bin (+)          in its bin, or about to be put there
//   shared full     former owner: deferred, countdown               in no list
//   shared binned   former owner: the same; locker of bin: others   as binned
//
//   change          from            to                       by                                     function
//   make            no run          owned                    the thread that has the pages          slab::make
//   release         owned           full, binned, no run     its owner                              slab::release
//   adopt           full            owned                    its last owner, which frees a block    slab::adopt
//   inherit         full, binned    owned                    a thread that frees a block (**)       slab::inherit
//   give back       any             the same, binned, no run a thread that frees others' blocks     slab::give_back
//   take            binned          owned                    a thread, under the bin's lock         Bin::take
//   take blocks     (shared) binned the same, (shared) full  a thread, under the bin's lock         Bin::take_blocks
//   share           owned           shared full or binned    a reclaimer (*)                        slab::share
//   unshare         shared …        full, binned, no run     former owner, or a reclaimer           slab::unshare
//   purge           (shared) binned the same                 a thread that took it out of its bin   Bin::take_quiet, slab::purge
//   disown          owned           owned by no thread       the child of a fork                    slab::disown
//
// "No run": all blocks are free, and the pages go back to the page heap. (*) A thread that reclaims from an idle owner
// is the holder, too, for the time that reclaim/idle.h gives. (**) Once the life of the last owner (owner.h) has ended;
// if the run is binned, under the bin's lock. (+) The thread that purges pages of the run (purge.h) takes it out of its
// bin, and is the holder until it puts the run back.
//
// A run that no thread owns is binned if and only if at least `enough` of its blocks are free.
//
// Accounting of an owned run (checked by the tests): capacity = used + blocks on `deferred` + blocks not yet carved.
// Used blocks are with the program, on a private list, on the remote list or in an outbox. An owned run has no purged
// pages.
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/pairing_heap.h"
#include "pages/run.h"
#include "slab/owner.h"

namespace acre {

class Bin;

// Which list of its owner's thread cache an owned run is in.
enum class OwnersList : uint8_t { kNone, kCurrent, kAdopted, kAvailable };

// What a thread does with a block that it frees in a run of another owner, or of none.
enum class FreePath : uint8_t {
  kOutbox,    // the block waits in the thread's outbox
  kAtOnce,    // the block goes back at once: shared classes
  kPurged,    // the block may lie on a purged page, and be free already (purge.h); if not, one of the above
  kManual,    // the block goes back at once: manual arenas (arena.h)
  kLabelled,  // the same, where blocks have labels (labels.h)
};

struct Link;  // free_list.h

// Where the private list for blocks of class c lies in a thread cache: in bytes from a list that takes none.
inline constexpr uint16_t kListBytes = 16;
constexpr uint16_t list_at(unsigned c) { return static_cast<uint16_t>((c + 1) * kListBytes); }
inline constexpr uint16_t kNoListAt = 0;

// "Fixed": from slab::make() until the pages go back. "Holder": the thread that the table above names.
struct alignas(kCacheLine) Slab {
  // Hot: what free() reads, and the owner's free writes if its private list is full.
  ThreadToken owner = kNoThread;      // holder writes; any thread may compare it with its own token
  Address base = 0;                   // fixed; 0: no slab run
  uint64_t divide = 0;                // fixed; geometry.h
  uint64_t limit = 0;                 // holder writes, any thread reads; geometry.h
  Link* deferred = nullptr;           // holder: blocks freed by the owner
  int32_t countdown = 0;              // holder: the owner's frees until the slow path; used = countdown + floor
  int16_t floor = 0;                  // holder. No meaning, as for countdown, while no thread owns the run
  uint16_t spread = 0;                // fixed: requests of block_bytes - spread + 1 to block_bytes bytes are of the class
  uint16_t block_bytes = 0;           // fixed
  uint16_t capacity = 0;              // fixed
  uint16_t enough = 0;                // fixed: free blocks that put the run into its bin
  uint16_t carved = 0;                // holder: blocks carved so far, from the run's start
  uint8_t pages = 0;                  // fixed
  uint8_t size_class = 0;             // fixed
  OwnersList list = OwnersList::kNone;  // owner
  FreePath free_path = FreePath::kOutbox;  // fixed in manual arenas; elsewhere holder writes, any thread reads
  uint16_t list_at = kNoListAt;       // as free_path: list_at(size_class), or kNoListAt from FreePath::kPurged on

  // What other threads write.
  alignas(kCacheLine) std::atomic<uint64_t> remote{0};  // word.h
  OwnerName last_owner = kNoOwner;                      // owner writes, any thread reads: a hint of who may adopt
  Bin* binned_in = nullptr;                             // written under that bin's lock
  Run* run = nullptr;                                   // fixed: its pages
  HeapNode<Slab> node;                                  // bin; the owner's lists use next and prev
  Slab* next = nullptr;                                 // spare headers (unit_table); a heap's shared runs
};
inline void set_free_path(Slab* slab, FreePath path) {
  relaxed_store(slab->list_at, path >= FreePath::kPurged ? kNoListAt : list_at(slab->size_class));
  release_store(slab->free_path, path);
}
inline bool is_manual(const Slab* slab) { return relaxed_load(slab->free_path) >= FreePath::kManual; }
inline bool is_labelled(const Slab* slab) { return relaxed_load(slab->free_path) == FreePath::kLabelled; }
static_assert(sizeof(Slab) == 2 * kCacheLine, "two cache lines: the owner's and the others'");

}  // namespace acre
