// malloc in the hardened mode.
#include "cache/large.h"
#include "cache/malloc.h"
#include "cache/new_handler.h"
#include "cache/registry.h"
#include "hardened/checks.h"
#include "hardened/quarantine.h"
#include "hardened/zero_size.h"

namespace acre::hardened {

namespace {

// The allocation was made again after the program's new handler freed memory: the inner one has protected the block.
ACRE_COLD void check_protected_already(void* block, size_t bytes) {
  if (!read_tail(block, bytes).is_whole) written_after_free(block, bytes);
  tail_word(block, bytes) = 0;
}

ACRE_ALWAYS_INLINE void* protect(void* block, size_t bytes, size_t n, Kind kind, Random* random) {
  if (ACRE_UNLIKELY(!is_block_zero(block, bytes, random))) check_protected_already(block, bytes);
  write_tail(block, bytes, n, kind);
  return block;
}

Random* random_of(Heap& heap) {
  Quarantine* quarantine = quarantine_of(heap);
  return quarantine != nullptr ? &quarantine->random() : nullptr;
}

void* told(void* block, size_t bytes, size_t n) {
  hooks::allocated(block, bytes, n);
  return block;
}

// For a thread without a heap, and one with a tag or a binding in force. Blocks of manual arenas are not protected.
ACRE_COLD void* allocate_seldom(SizeClass c, size_t n, Kind kind) {
  if (this_thread_ends()) return large::allocate(larger<size_t>(n, 1), 1, false);
  void* block = allocate_without_heap(c, n);
  if (block == nullptr) return nullptr;
  const Found found = find_block(block);
  if (!is_protected(found)) return block;
  return protect(block, acre::block_bytes(found), n, kind, nullptr);
}

void* allocate_small(SizeClass c, size_t n, Kind kind) {
  if (ACRE_UNLIKELY(t_heap == &kUninitializedHeap)) registry::initialize_thread();
  HotHeap* hot = t_heap;
  const bool is_usual = hot->kind != HeapKind::kNone && !hot->is_diverted && !is_ending();
  if (ACRE_UNLIKELY(!is_usual)) return allocate_seldom(c, n, kind);
  Heap& heap = *static_cast<Heap*>(hot);
  void* block = take_or_null(heap, c, n);
  if (ACRE_UNLIKELY(block == nullptr)) {
    return new_handler::ask() ? allocate_small(c, n, kind) : out_of_memory(kSmallMax);
  }
  protect(block, size_of_class(c), n, kind, random_of(heap));
  return ACRE_LIKELY(!hooks::are_told()) ? block : told(block, size_of_class(c), n);
}

ACRE_COLD void* allocate_nothing(Kind kind) {
  void* p = zero_size::allocate();
  return p != nullptr ? told(p, 0, 0) : allocate_small(class_of_size(kTailBytes), 0, kind);
}

ACRE_COLD void* allocate_large(size_t n, size_t alignment, Kind kind) {
  void* block = large::allocate(n, alignment, false);
  if (block != nullptr) set_kind(block, kind);
  return block;
}

}  // namespace

void* allocate(size_t n, Kind kind) {
  if (ACRE_UNLIKELY(n == 0)) return allocate_nothing(kind);
  if (ACRE_UNLIKELY(n > kSmallMax - kTailBytes)) return allocate_large(n, 1, kind);
  return allocate_small(class_of_size(n + kTailBytes), n, kind);
}

void* allocate_aligned(size_t n, size_t alignment, Kind kind) {
  const SizeClass c = n > kSmallMax - kTailBytes ? kSmallClasses : class_for_aligned(n + kTailBytes, alignment);
  return c == kSmallClasses ? allocate_large(n, alignment, kind) : allocate_small(c, n, kind);
}

}  // namespace acre::hardened
