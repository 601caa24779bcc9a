// Large blocks: a run each, in whole pages; from kHugeFrom on a mapping each.
#pragma once

#include "slab/arena.h"

namespace acre {
struct Arena;
struct Tag;
}

namespace acre::large {

inline constexpr size_t kHugeFrom = size_t{64} << 20;
inline constexpr size_t kMostAlignment = size_t{1} << 46;  // no larger multiple is a user address

// n bytes at a multiple of alignment (a power of two), all zero if so asked. Null and ENOMEM on failure.
void* allocate(size_t n, size_t alignment, bool zeroed);

// The same from this arena; huge blocks are mappings of their own all the same.
void* allocate_in(Arena* arena, size_t n, size_t alignment, bool zeroed);

// Bytes of the block that allocate() would give; 0: there are none such.
size_t block_bytes(size_t n, size_t alignment);

void free(Run* run);

// A run for n bytes that is yet to be handed out. Null when memory is refused.
Run* find_run(size_t n, size_t alignment);

// For manual arenas. A run of such an arena, or a huge block of it, for n bytes; null when memory is refused or the
// limit is reached.
Run* find_run_in(Arena& arena, size_t n, size_t alignment);

// The last steps of an allocation: the block that this run is, zeroed if so asked.
void* hand_out(Run* run, size_t n, bool zeroed);

// Makes the block n bytes long (more than kSmallMax) without copying. Returns where it is now; null if that
// can't be done, with nothing changed.
void* resize(Run* run, size_t n);

// The same without moving the block: false if that can't be done.
bool resize_in_place(Run* run, size_t n);

// Who is told of blocks that are asked for with kLeastReported bytes or more, once they are the program's, with no lock
// held; null: nobody. It may allocate, and be told of that. Set before the program's threads.
inline constexpr size_t kLeastReported = size_t{1} << 20;
using Reporter = void (*)(const void* block, size_t n);
extern Reporter g_reporter ACRE_HIDDEN;

// From now on no block's length in pages is changed so: each change is an allocation and a free, which are seen
// (fill.h).
void forbid_resizing();

}  // namespace acre::large
