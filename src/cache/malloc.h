// malloc, the hot path.
#pragma once

#include "cache/heap.h"

namespace acre {

// The slow path, and sizes the table does not cover. Sets errno to ENOMEM and returns null on failure.
void* allocate_slow(size_t n);

// The first block of the private list for n bytes; slow(n) if there is none, or if is_beyond: n is more than the table has.
template <class Slow>
ACRE_ALWAYS_INLINE void* allocate_or(bool is_beyond, size_t n, Slow slow) {
  if (ACRE_UNLIKELY(is_beyond)) return slow(n);
  char* heap = reinterpret_cast<char*>(t_heap);
  // The slot's address is worked out first, for an instruction: processors hand on what was just stored there, here or by
  // free(), several cycles sooner if it is loaded by a plain register.
  Slot* slot = reinterpret_cast<Slot*>(heap + HotHeap::kSlotsAt + t_heap->slot_at[n] * HotHeap::kStep);
  asm("" : "+r"(slot));
  const LowAddress head = slot->head;
  if (ACRE_UNLIKELY(is_end(head))) return slow(n);
  Link* block = reinterpret_cast<Link*>(slot->high + head);
  slot->head = block->next;
  block->mark = 0;  // no longer free (slab/free_list.h)
  return block;
}

// n bytes, aligned to the largest power of two that divides the size class. Null and ENOMEM on failure.
ACRE_ALWAYS_INLINE void* allocate(size_t n) { return allocate_or(n > kTableMax, n, allocate_slow); }

// A block of this class from a heap that the calling thread has to itself. Null when memory is refused; errno is as it
// was.
void* take_block(Heap& heap, SizeClass c);

// An allocation of n bytes has failed, or of a small block (kSmallMax): sets errno to ENOMEM and returns null, or ends
// the program (xmalloc).
void* out_of_memory(size_t n);

// Takes the first block off a private list that is not empty.
inline void* pop(Slot& slot) {
  Link* block = reinterpret_cast<Link*>(slot.high + slot.head);
  slot.head = block->next;
  block->mark = 0;
  return block;
}

// n zeroed bytes.
void* allocate_zeroed(size_t n);

// n bytes at a multiple of alignment, a power of two.
void* allocate_aligned(size_t n, size_t alignment);

// A small block for a thread that goes without its heap, or whose heap is not plain. asked: for how many bytes.
void* allocate_without_heap(SizeClass c, size_t asked);

// A small block from this arena alone, for n bytes. Null and ENOMEM on failure.
void* allocate_small_in(Arena* arena, SizeClass c, size_t n);

// Bytes that the program may use in a live block. caller: for the message if p is none.
size_t usable_size(const void* p, const char* caller);

// Of realloc with a block and size 0: how often it was called so far. Counted by its caller.
void count_zero_realloc();
uint64_t zero_reallocs();

// As realloc for p != null, n != 0.
void* reallocate(void* p, size_t n);

}  // namespace acre
