// Large blocks. Each is a run of whole pages; a *huge* one, of more than kHugeFrom bytes, is a mapping of its own.
#pragma once

#include "slab/arena.h"

namespace acre {
struct Arena;
struct Tag;
}

namespace acre::large {

inline constexpr size_t kHugeFrom = size_t{64} << 20;
inline constexpr size_t kMostAlignment = size_t{1} << 46;  // no user address is a multiple of a larger power of two

// n bytes at a multiple of alignment (a power of two), zeroed if so asked. Null and ENOMEM on failure.
void* allocate(size_t n, size_t alignment, bool zeroed);

// The same from this arena. A huge block is a mapping of its own all the same.
void* allocate_in(Arena* arena, size_t n, size_t alignment, bool zeroed);

// Bytes of the block that allocate() would return; 0: there is no such block.
size_t block_bytes(size_t n, size_t alignment);

void free(Run* run);

// A run for n bytes, not handed out yet. Null if memory is refused.
Run* find_run(size_t n, size_t alignment);

// For manual arenas: a run of the arena, or a huge block that belongs to it. Null if memory or the limit refuses.
Run* find_run_in(Arena& arena, size_t n, size_t alignment);

// The last steps of an allocation: returns the run's block, zeroed if so asked. A null run: as out_of_memory(n).
void* hand_out(Run* run, size_t n, bool zeroed);

// Makes the block n bytes long (more than kSmallMax) without a copy. Returns its address; null, with nothing changed,
// if that cannot be done.
void* resize(Run* run, size_t n);

// The same without moving the block. Returns false if that cannot be done.
bool resize_in_place(Run* run, size_t n);

// Called for each block of kLeastReported bytes or more that the program asked for, once the program has it, with no
// lock held; null: not called. It may allocate, and is called for that, too. Set before the program has threads.
inline constexpr size_t kLeastReported = size_t{1} << 20;
using Reporter = void (*)(const void* block, size_t n);
extern Reporter g_reporter ACRE_HIDDEN;

ACRE_ALWAYS_INLINE void report(const void* block, size_t n) {
  if (ACRE_UNLIKELY(n >= kLeastReported) && g_reporter != nullptr) g_reporter(block, n);
}

inline bool is_huge(size_t bytes, size_t alignment) { return bytes > kHugeFrom || alignment > kHugePageBytes; }

// Moves the block's pages to a run for n bytes, more than it has, and frees its run. Null, with nothing changed, if that
// cannot be done, or costs more than a copy.
Run* move_to_other_run(Run* run, size_t n);

// From now on no block changes its length in pages: realloc allocates and frees, and both blocks are filled (fill.h).
void forbid_resizing();

}  // namespace acre::large
