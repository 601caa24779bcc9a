// Transparent huge pages where memory is large and dense.
//
// Chunks are mapped without huge pages, so that small and sparse memory stays small. When a large arena has nearly all
// of its memory in use and needs more, it gets one huge page at once, before it is touched: one page fault in place of
// 512, and one entry of the TLB. The page counts as dirty from then on, so that it is used up before another is asked
// for, and what is not used decays. The advice to the kernel holds only while the page is being made: what is purged
// comes back in small pages, khugepaged has nothing to do here, and the kernel's mapping stays one with its neighbours.
//
// Decay does not break a huge page that is mostly in use, as long as this keeps little (PageHeap::decay).
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::huge_pages {

// Whether an arena with so many pages in use, and so many that are dirty, should get a huge page when it needs memory.
bool are_wanted(size_t used_pages, size_t dirty_pages);

// After are_wanted(): makes this clean, aligned huge page dirty, all of it. Where the system has no huge page to give, of small pages.
void populate(Address page);

// A new chunk: where all chunks are asked to have huge pages (huge_pages:always), these are taken for whole from now on.
void note_chunk(Address start, size_t bytes);

// Pages that huge pages may be kept whole for, with so many in use.
size_t most_spared(size_t used_pages);

// Of a free range, the part that can be purged without breaking a huge page of which fewer than `least` bytes would go.
struct Range {
  Address start;
  Address end;
};
Range without_broken(Range free, size_t least);

// Where a purge of [start, end), in a free range that goes on to `last`, had better end: if that is within a whole huge
// page of which all is free, at its end.
Address end_of_whole(Address start, Address end, Address last);

// A range is being purged: no whole huge pages are there any more. With huge_pages:always the next touch makes one again
// where all of it is purged.
void forget(Range purged);

}  // namespace acre::huge_pages
