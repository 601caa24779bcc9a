// free, the hot path.
#pragma once

#include "cache/heap.h"
#include "slab/unit_table.h"

namespace acre {

// Frees what is not a plain block of a run: null, large and sampled blocks, blocks of runs without a place in the unit
// table. Ends the program for foreign and misused pointers. name: of the function that the program has called.
void release_slow(void* p, const char* name);

// Frees a block of a run that the calling thread does not own.
void release_elsewhere(Slab* slab, void* p);

// As release_slow() and release_elsewhere(), for a free with a size, which the recorder tells apart.
// release_slow_sized() calls check_size().
void release_slow_sized(void* p, size_t n, size_t alignment, const char* name);
void release_elsewhere_sized(Slab* slab, void* p);

// Ends the program if p is a block, and a request for n bytes at a multiple of alignment would have got one of another
// size. Does nothing if the option size_checks is off.
void check_size(const void* p, size_t n, size_t alignment, const char* name);

// Tells the recorder that p, whose free comes next, is freed with a size. Does nothing if p is no block of acre's.
void note_sized(const void* p);

// The same for a thread whose heap is observed: release_told() once the observers know, tell_and_release() before.
void release_told(Heap& heap, Slab* slab, void* p);
void tell_and_release(Heap& heap, Slab* slab, void* p);

// Called after a free in an owned run whose countdown has reached zero.
void release_event(Slab* slab);

// Like release_slow, but for a pointer into no run of acre it calls foreign(p, form, alignment, caller) instead of
// ending the program. caller: the return address, which is the program's if this function was reached by jumps alone.
using Foreign = void(void* p, unsigned form, size_t alignment, const void* caller);
void release_slow_or(void* p, const char* name, unsigned form, size_t alignment, Foreign* foreign);

struct AnySize {
  bool operator()(const Slab*) const { return true; }
};
// A request of n bytes gets blocks of the run's class.
struct SizeOf {
  size_t n;
  bool operator()(const Slab* slab) const { return size_t{slab->block_bytes} - n < slab->spread; }
};

// Puts a block that the calling thread frees on its private list. Returns false if the list is full or closed.
ACRE_ALWAYS_INLINE bool put_on_list(Slab* slab, void* p) {
  Slot& slot = t_heap->list_of(slab);
  if (!is_positive(slot.room)) return false;  // always in the two constant heaps
  --slot.room;
  slot.head = write_link(p, slot.head);
  return true;
}

// Frees a block that is known to be live: to the private list, or, if that takes none, to the thread's own run, or
// elsewhere.
ACRE_ALWAYS_INLINE void release_block(Slab* slab, void* p, void (*elsewhere)(Slab*, void*) = release_elsewhere) {
  if (ACRE_LIKELY(put_on_list(slab, p))) return;
  if (ACRE_UNLIKELY(relaxed_load(slab->owner) != this_thread())) return elsewhere(slab, p);
  slab::defer(slab, p);
  if (ACRE_UNLIKELY(slab->countdown == 0)) release_event(slab);
}

// slab: the header that the unit table names for p. slow(p), elsewhere(slab, p): as release_slow, release_elsewhere.
// fits(slab): whether the program may free blocks of the run by this call; if not, slow(p) says so.
template <class Slow, class Fits = AnySize>
ACRE_ALWAYS_INLINE void release_at(Slab* slab, void* p, Slow slow, void (*elsewhere)(Slab*, void*) = release_elsewhere,
                                   Fits fits = {}) {
  if (ACRE_UNLIKELY(!is_block_start(slab, p))) return slow(p);
  if (ACRE_UNLIKELY(is_marked(p))) return slow(p);  // free already? (slab/free_list.h)
  if (ACRE_UNLIKELY(!fits(slab))) return slow(p);
  release_block(slab, p, elsewhere);
}

ACRE_ALWAYS_INLINE void release(void* p, const char* name = "free") {
  release_at(unit_table::at(p), p, [=](void* block) { release_slow(block, name); });
}

}  // namespace acre
