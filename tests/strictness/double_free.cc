// Blocks that are freed twice.
#include "kinds.h"

namespace {

void free_some(size_t size, size_t count) {
  static Byte* others[1000];
  for (size_t i = 0; i < count; ++i) others[i] = take(size);
  for (size_t i = 0; i < count; ++i) free(others[i]);
}

Outcome at_once(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

Outcome delayed(const Case& given) {
  Neighbours neighbours(given);
  Byte* others[16];
  for (Byte*& other : others) other = take(neighbours.size);
  free(neighbours.victim);
  for (Byte* other : others) free(other);
  begin();
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

Outcome much_later(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  for (size_t size = 24; size < 4 * kKib; size += size / 2) free_some(size, 100);
  begin();
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

Outcome interleaved(const Case& given) {
  Neighbours neighbours(given);
  Byte* other = take(neighbours.size);
  free(neighbours.victim);
  free(other);
  begin();
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

// The stale free is that of a live block if the allocator handed the block out again. Its owner's free is the second.
Outcome after_reuse(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  Byte* later = take(neighbours.size);
  begin();
  free(neighbours.victim);
  free(later);
  done();
  return passes_after_release(neighbours);
}

Outcome after_reuse_and_take(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  Byte* owner = take(neighbours.size);
  begin();
  free(neighbours.victim);
  Byte* thief = take(neighbours.size);
  done();
  if (owner == thief) return kPasses;
  free(owner);
  free(thief);
  return kNoEffect;
}

Outcome after_write(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  fill(neighbours.victim, neighbours.size, kDamage);
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

Outcome after_realloc(const Case& given) {
  Neighbours neighbours(given);
  void* moved = realloc(neighbours.victim, neighbours.size + 64 * kMib);
  if (moved == nullptr) _exit(2);
  begin();
  // Not moved: there is no stale pointer.
  if (moved == neighbours.victim) return kNoEffect;
  free(neighbours.victim);
  done();
  free(moved);
  return passes_after_release(neighbours);
}

Outcome after_realloc_to_nothing(const Case& given) {
  Neighbours neighbours(given);
  void* rest = realloc(neighbours.victim, 0);
  begin();
  if (rest == neighbours.victim) return kNoEffect;
  free(neighbours.victim);
  done();
  free(rest);
  return passes_after_release(neighbours);
}

Outcome by_operators(const Case& given) {
  Neighbours neighbours(given);
  void* block = hidden(operator new(neighbours.size));
  operator delete(block);
  begin();
  operator delete(block);
  done();
  neighbours.release();
  return kPasses;
}

Outcome of_aligned(const Case& given) {
  Neighbours neighbours(given);
  void* block = hidden(aligned_alloc(64, (neighbours.size + 63) / 64 * 64));
  free(block);
  begin();
  free(block);
  done();
  neighbours.release();
  return kPasses;
}

Outcome thread_first(const Case& given) {
  Neighbours neighbours(given);
  free_in_thread(neighbours.victim);
  begin();
  free(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

Outcome thread_second(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  free_in_thread(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

const Registration registration([] {
  constexpr const char* group = "double_free";
  for (size_t size : kSizes) {
    add("double_free_%s", group, "frees a block of %s twice in a row", at_once, kPlaces, size);
    add("double_free_delayed_%s", group, "frees a block of %s, 16 others, and the first again", delayed, kPlaces, size);
    add("double_free_much_later_%s", group, "a block of %s, 1300 blocks of other sizes in between", much_later, kPlaces,
        size);
    add("double_free_interleaved_%s", group, "frees a, b, a, blocks of %s", interleaved, kPlaces, size);
    add("double_free_after_reuse_%s", group, "frees a, allocates b, frees a again, then b: blocks of %s", after_reuse,
        kPlaces, size);
    add("double_free_theft_%s", group, "the second free makes malloc give a live block of %s to another",
        after_reuse_and_take, kPlaces, size);
    add("double_free_after_write_%s", group, "the free block of %s is overwritten, then freed again", after_write,
        kPlaces | kGuard, size);
    add("double_free_after_realloc_%s", group, "frees the block of %s from which realloc moved", after_realloc, kPlaces,
        size);
    add("double_free_after_realloc_0_%s", group, "frees the block of %s that realloc(p, 0) freed",
        after_realloc_to_nothing, kPlaces, size);
    add("double_delete_%s", group, "deletes a block of %s twice", by_operators, kPlaces, size);
    add("double_free_aligned_%s", group, "frees a block of %s from aligned_alloc twice", of_aligned, kPlaces, size);
    add("double_free_thread_first_%s", group, "a block of %s: another thread frees it, then this one", thread_first,
        kPlaces, size);
    add("double_free_thread_second_%s", group, "a block of %s: this thread frees it, then another", thread_second,
        kPlaces, size);
  }
});

}  // namespace
