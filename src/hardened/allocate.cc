// malloc in the hardened mode.
#include "cache/large.h"
#include "cache/malloc.h"
#include "cache/new_handler.h"
#include "cache/registry.h"
#include "hardened/checks.h"
#include "hardened/protect.h"
#include "hardened/quarantine.h"
#include "hardened/zero_size.h"

namespace acre::hardened {

namespace {

Random* random_of(Heap& heap) {
  Quarantine* quarantine = quarantine_of(heap);
  return quarantine != nullptr ? &quarantine->random() : nullptr;
}

// For a thread without a heap, and one with a tag or a binding in force. Blocks of manual arenas are not protected.
ACRE_COLD void* allocate_seldom(SizeClass c, Request request) {
  if (this_thread_ends()) return large::allocate(larger<size_t>(request.n, 1), request.alignment, false);
  void* block;
  if (manual::allocate_small(class_for_aligned(request.n, request.alignment), request.n, &block)) return block;
  block = allocate_without_heap(c, request.n);
  if (block == nullptr) return nullptr;
  return told(protect(block, acre::block_bytes(find_block(block)), request.n, request.kind, nullptr), request.n);
}

// c: of blocks with a tail.
ACRE_NOINLINE void* allocate_small(SizeClass c, size_t n, Kind kind, size_t alignment) {
  if (ACRE_UNLIKELY(t_heap == &kUninitializedHeap)) registry::initialize_thread();
  HotHeap* hot = t_heap;
  const bool is_usual = hot->kind != HeapKind::kNone && !hot->is_diverted && !is_ending();
  if (ACRE_UNLIKELY(!is_usual)) return allocate_seldom(c, {n, alignment, kind});
  Heap& heap = *static_cast<Heap*>(hot);
  void* block = take_or_null(heap, c, n);
  if (ACRE_UNLIKELY(block == nullptr)) {
    return new_handler::ask() ? allocate_small(c, n, kind, alignment) : out_of_memory(kSmallMax);
  }
  protect(block, size_of_class(c), n, kind, random_of(heap));
  return ACRE_LIKELY(!hooks::are_told()) ? block : told(block, n);
}

// The list's first block, which is marked, was written after its free; or the program freed memory in its new handler.
ACRE_COLD void* protect_again(void* block, SizeClass c, size_t n, Kind kind) {
  return protect(block, size_of_class(c), n, kind, nullptr);
}

// The same in the usual case, and without a call that is not its last, so that no register is saved.
ACRE_ALWAYS_INLINE void* allocate_usual(SizeClass c, size_t n, Kind kind, size_t alignment = 1) {
  HotHeap* hot = t_heap;
  const bool is_plain = hot->kind != HeapKind::kNone && !hot->is_diverted && !is_ending() && !hooks::are_told();
  Slot& slot = hot->slots[c];
  const size_t bytes = size_of_class(c);
  if (ACRE_UNLIKELY(!is_plain || is_shared_class(c) || !may_take(slot))) return allocate_small(c, n, kind, alignment);
  if (ACRE_UNLIKELY(!is_address(slot.head->next()))) return allocate_small(c, n, kind, alignment);
  void* block = pop(slot);
  if (ACRE_UNLIKELY(!are_zero(block, 0, bytes))) return protect_again(block, c, n, kind);
  write_tail(block, bytes, n, kind);
  return block;
}

ACRE_COLD void* allocate_nothing(Kind kind) {
  void* p = zero_size::allocate();
  return p != nullptr ? told(p, 0) : allocate_small(class_for(0, 1), 0, kind, 1);
}

ACRE_COLD void* allocate_large(size_t n, size_t alignment, Kind kind) {
  if (t_heap == &kUninitializedHeap) registry::initialize_thread();
  void* block = large::allocate(n, alignment, false);
  if (block != nullptr) set_kind(block, kind);
  return block;
}

}  // namespace

void* allocate(size_t n, Kind kind) {
  if (ACRE_UNLIKELY(n == 0)) return allocate_nothing(kind);
  if (ACRE_UNLIKELY(n > kSmallMax - kTailBytes)) return allocate_large(n, 1, kind);
  return allocate_usual(class_of_size(n + kTailBytes), n, kind);
}

void* allocate_aligned(size_t n, size_t alignment, Kind kind) {
  const SizeClass c = class_for(n, alignment);
  return c == kSmallClasses ? allocate_large(n, alignment, kind) : allocate_usual(c, n, kind, alignment);
}

}  // namespace acre::hardened
