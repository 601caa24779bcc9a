// Bytes of blocks that the calling thread has ever allocated and freed, for ctl's thread.allocated and its kin.
//
// malloc and free count nothing. The slow path counts small blocks when it puts them on private lists and takes freed
// ones off deferred lists (BlockCounts in heap.h). look() subtracts the blocks that are still on private lists, adds
// those on deferred lists, and is exact. It walks these lists: microseconds. Large blocks are counted at once.
//
//   allocated = recycled + listed - on private lists now             + large blocks
//   freed     = recycled + freed in runs that were given up
//               + on deferred lists of the thread's runs now
//               + blocks ever put in the outbox                      + large blocks
//
// A thread without a heap counts nothing: in its last destructors, while blocks are filled (observe/fill.h), and while
// its heap is put aside (registry.h).
#pragma once

#include "cache/heap.h"

namespace acre::thread_bytes {

// Brings heap.bytes up to date. For the heap's owner.
void look(Heap& heap);

inline int64_t in_use(const ThreadBytes& bytes) { return static_cast<int64_t>(bytes.allocated - bytes.freed); }

inline void note_peak(ThreadBytes& bytes) { bytes.peak = larger(bytes.peak, in_use(bytes) - bytes.base); }

inline void reset_peak(ThreadBytes& bytes) {
  bytes.base = in_use(bytes);
  bytes.peak = 0;
}

// For blocks that do not come from the thread's own lists.
inline void count_allocated(Heap& heap, size_t block_bytes) {
  relaxed_add(heap.bytes.allocated, uint64_t{block_bytes});
  if (ACRE_UNLIKELY(heap.bytes.is_tracked)) note_peak(heap.bytes);
}
inline void count_freed(Heap& heap, size_t block_bytes) { relaxed_add(heap.bytes.freed, uint64_t{block_bytes}); }

// The same for the calling thread, if it has a heap.
inline void count_allocated(size_t block_bytes) {
  if (Heap* heap = heap_if_any()) count_allocated(*heap, block_bytes);
}
inline void count_freed(size_t block_bytes) {
  if (Heap* heap = heap_if_any()) count_freed(*heap, block_bytes);
}

}  // namespace acre::thread_bytes
