// Transparent huge pages where memory is large and dense.
//
// Chunks are mapped without huge pages, so that small and sparse memory stays small. When a large arena has nearly all
// of its memory in use and needs more, it gets one huge page at once, before the memory is touched: one page fault
// instead of 512, and one TLB entry. The page counts as dirty, so it is used up before the arena asks for another, and
// what is not used decays. The advice to the kernel holds only while the page is made: purged memory comes back in
// small pages, khugepaged has nothing to do, and the kernel's mapping stays one with its neighbours.
//
// Decay does not break a huge page that is mostly in use, as long as this keeps little memory (PageHeap::decay).
#pragma once

#include <cstddef>

#include "base/units.h"

namespace acre::huge_pages {

// Whether an arena with this many used and dirty pages should get a huge page when it needs memory.
bool are_wanted(size_t used_pages, size_t dirty_pages);

// After are_wanted(): makes this clean, aligned huge page dirty, in small pages if the system has no huge page.
void populate(Address page);

// A new chunk. With huge_pages:always its huge pages count as whole from now on.
void note_chunk(Address start, size_t bytes);

// Whether the address lies in a huge page that is still whole, as far as acre knows.
bool is_whole(Address a);

// The most dirty pages that may stay to keep huge pages whole, in an arena with this many used pages.
size_t most_spared(size_t used_pages);

// The part of a free range whose purge breaks no whole huge page of which fewer than `least` bytes are free.
struct Range {
  Address start;
  Address end;
};
Range without_broken(Range free, size_t least);

// A purge of [start, end) in a free range up to `last` should end at the address returned. It is the end of a huge page
// if `end` lies inside a whole one that is wholly free, and `end` otherwise.
Address end_of_whole(Address start, Address end, Address last);

// The range is being purged or unmapped, so its huge pages are no longer whole. With huge_pages:always those that go
// wholly still count, since the next touch makes them again.
void forget(Range purged);

}  // namespace acre::huge_pages
