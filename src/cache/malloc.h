// malloc, the hot path.
#pragma once

#include "cache/heap.h"

namespace acre {

// The slow path, and sizes that the table does not cover. On failure sets errno to ENOMEM and returns null.
void* allocate_slow(size_t n);

// Takes the first block, whose link leads to `next`, off a private list. Counts it but in `left`.
ACRE_ALWAYS_INLINE void* take_first(Slot& slot, Link* block, Link* next) {
  slot.head = next;
  ++slot.room;
  clear_link(block);
  return block;
}

// Takes the first block of the private list for n bytes. If the list is empty or has to be counted, or n is beyond the
// table, returns slow(n).
template <class Slow>
ACRE_ALWAYS_INLINE void* allocate_or(bool is_beyond, size_t n, Slow slow) {
  if (ACRE_UNLIKELY(is_beyond)) return slow(n);
  char* heap = reinterpret_cast<char*>(t_heap);
  // The slot's address is computed first, at the cost of an instruction: a processor forwards a value that malloc or
  // free() has just stored there several cycles sooner if a plain register addresses the load.
  Slot* slot = reinterpret_cast<Slot*>(heap + t_heap->slot_at[n] * HotHeap::kStep);
  asm("" : "+r"(slot));
  Link* block = slot->head;
  if (ACRE_UNLIKELY(block == nullptr)) return slow(n);
  Link* next = block->next();
  if (ACRE_UNLIKELY(!is_address(next))) return slow(n);
  if (ACRE_UNLIKELY(!take_one(slot->left))) return slow(n);
  return take_first(*slot, block, next);
}

// Allocates n bytes, aligned to the largest power of two that divides the size class. Null and ENOMEM on failure.
ACRE_ALWAYS_INLINE void* allocate(size_t n) { return allocate_or(n > kTableMax, n, allocate_slow); }

// Takes a block from a heap that only the calling thread uses. Null if memory is refused; errno is unchanged.
void* take_block(Heap& heap, SizeClass c);

// The same, also while blocks are sampled. asked: the bytes that the program asked for.
void* take_or_null(Heap& heap, SizeClass c, size_t asked);

// Called when an allocation of n bytes (kSmallMax: of some small block) fails. Sets errno to ENOMEM and returns null,
// or ends the program (option xmalloc).
void* out_of_memory(size_t n);

// Whether malloc may take a block off a private list without a look of the slow path.
inline bool may_take(const Slot& slot) { return slot.head != nullptr && slot.left > 0; }

// Takes the first block off a private list that is not empty, and counts it. Ends the program if the list was
// overwritten.
inline void* pop(Slot& slot) {
  Link* next = slot.head->next();
  if (ACRE_UNLIKELY(!is_address(next))) overwritten_list();
  --slot.left;
  return take_first(slot, slot.head, next);
}

void* allocate_zeroed(size_t n);

// n bytes at a multiple of alignment, a power of two.
void* allocate_aligned(size_t n, size_t alignment);

// A small block for a thread without a heap, or whose heap is not plain. asked: the bytes that the program asked for.
void* allocate_without_heap(SizeClass c, size_t asked);

// A small block for n bytes from this arena alone. Null and ENOMEM on failure.
void* allocate_small_in(Arena* arena, SizeClass c, size_t n);

// Bytes of the live block at p, all of which the program may use. caller: named in the message if p is no block.
size_t usable_size(const void* p, const char* caller);

// The number of calls of realloc with a block and size 0. The entry point counts them.
void count_zero_realloc();
uint64_t zero_reallocs();

// Like realloc, for p != null and n != 0.
void* reallocate(void* p, size_t n);

}  // namespace acre
