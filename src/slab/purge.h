// Pages inside of runs in which something lives: those on which no block lives are given back to the system, and their
// free blocks are *uncut*, on no list and without a mark, until the run needs them again.
//
//   purged bits     run->purged has a bit for each page that was given back and lies below the last live page
//   uncut           a block that lies, in whole or in part, on a page with a bit; all such blocks are free
//   carved          pages behind the last live page need no bits: carved goes down to the first block that touches them
//
// Uncut blocks count as local in the remote word, like those that were never carved. A run that becomes owned gets them
// all back (restore), so that the owner's free can rely on marks. While a run that no thread owns has purged pages, its
// free_path leads other threads' frees to is_uncut().
//
// A thread that purges takes the run out of its bin and is its holder meanwhile, with no lock held. The word still says
// binned, as for a run that is about to be put into its bin. In the child of a fork such a run stays out of its bin.
// tests/interleave has scenarios for this, and tests/model the states.
#pragma once

#include "slab/geometry.h"
#include "slab/slab.h"

namespace acre::slab {

inline constexpr size_t kMostRunPages = 64;
static_assert(kMostUnits * kRunUnitPages <= kMostRunPages);

// Bits of the pages that the block at this offset touches.
inline uint64_t pages_of_block(size_t offset, size_t block_bytes) {
  const size_t first = offset >> kPageShift, last = (offset + block_bytes - 1) >> kPageShift;
  return (uint64_t{2} << last) - (uint64_t{1} << first);
}

inline bool has_purged(const Slab* slab) { return relaxed_load(slab->free_path) == FreePath::kPurged; }

// Whether a block that was carved is uncut. For any thread: true is right if the program has the block, or thinks so.
bool touches_purged(const Slab* slab, const void* block);
inline bool is_uncut(const Slab* slab, const void* block) {
  return ACRE_UNLIKELY(has_purged(slab)) && touches_purged(slab, block);
}

// What free_path is in automatic arenas while no page is purged.
inline FreePath unpurged_path(SizeClass c) { return is_shared_class(c) ? FreePath::kAtOnce : FreePath::kOutbox; }

// For the thread that has taken the run out of its bin (Bin::take_quiet): gives back its pages without a live block. The
// caller then offers the run to the bin. Returns how many pages, as far as is known, held memory before.
size_t purge(Slab* slab);

// A list of blocks that are on no other.
struct Restored {
  Link* head;
  Link* last;
  uint32_t count;
};

// For the holder of a run with purged pages: cuts the uncut blocks of the lowest purged page again, or of so many pages
// that at least one block can be cut.
Restored restore(Slab* slab);

// For the owner of a run with purged pages: cuts all uncut blocks again, as deferred ones. Returns true.
bool restore_all(Slab* slab);

// For the holder: local blocks go onto the remote list.
void list_local(Slab* slab, const Restored& blocks);

}  // namespace acre::slab
