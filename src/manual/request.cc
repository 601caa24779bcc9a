#include "manual/request.h"

#include <string.h>

#include "cache/free.h"
#include "cache/large.h"
#include "cache/lookup.h"
#include "cache/malloc.h"
#include "cache/private_list.h"
#include "cache/registry.h"
#include "cache/upcalls.h"
#include "manual/manual_arena.h"
#include "manual/tags.h"

namespace acre::request {

namespace {

bool is_small(size_t n, size_t alignment) { return class_for_aligned(n, alignment) != kSmallClasses; }

void* allocate_in(unsigned index, size_t n, size_t alignment, bool zeroed) {
  if (ManualArena* arena = arenas::manual_at(index)) return arenas::allocate_in(*arena, n, alignment, zeroed);
  Arena* arena = registry::arena_at(index);
  if (arena == nullptr) return out_of_memory(n);
  if (is_small(n, alignment)) return allocate_small_in(arena, class_for_aligned(n, alignment), n);
  return large::allocate_in(arena, n, alignment, zeroed);
}

// In the hardened mode, which does not keep its blocks to one automatic arena.
ACRE_COLD void* allocate_hardened(size_t bytes, const Request& request) {
  void* block = hardened::allocate_aligned(bytes, request.alignment, Kind::kRounded);
  if (block == nullptr || !request.zeroed) return block;
  const Found found = find_block(block);
  if (found.run == nullptr || !found.run->fresh) memset(block, 0, program_bytes(found, block, "mallocx"));
  return block;
}
bool is_manual_arena(unsigned index) { return index != kAnyArena && arenas::manual_at(index) != nullptr; }

// Zeroes the bytes that a block has gained. Huge blocks grow by pages that the system has zeroed.
void zero_added(const Found& found, void* block, size_t old_bytes) {
  const size_t bytes = program_bytes(found, block, "realloc");
  const bool is_huge = found.run != nullptr && found.run->kind == RunKind::kHuge;
  if (bytes <= old_bytes || (is_huge && !hardened::is_on())) return;  // there the last page may be filled
  memset(static_cast<char*>(block) + old_bytes, 0, bytes - old_bytes);
}

// Whether a large block would still be large with n bytes, and its address is aligned.
bool may_stay_large(const Found& found, const void* p, size_t n, size_t alignment) {
  return found.slab == nullptr && !is_sampled(found) && address_of(p) % alignment == 0 && !is_small(n, alignment);
}

void* resize(const Found& found, void* p, size_t old_bytes, size_t n, const Request& request) {
  if (found.slab != nullptr || is_sampled(found)) {
    const bool fits = address_of(p) % request.alignment == 0 && block_bytes(n, request.alignment) == old_bytes;
    if (fits && hardened::is_on()) hardened::set_kind(p, Kind::kRounded);
    return fits ? p : nullptr;
  }
  if (!may_stay_large(found, p, n, request.alignment)) return nullptr;
  if (hardened::is_on()) found.run->made_by = Kind::kRounded;
  void* resized = p;
  if (request.alignment <= kPageBytes) {
    resized = large::resize(found.run, n);
  } else if (!large::resize_in_place(found.run, n)) {
    resized = nullptr;
  }
  if (resized != nullptr && request.zeroed) zero_added(find_block(resized), resized, old_bytes);
  return resized;
}

}  // namespace

size_t block_bytes(size_t n, size_t alignment) {
  const SizeClass c = class_for_aligned(n, alignment);
  return c != kSmallClasses ? size_of_class(c) : large::block_bytes(n, alignment);
}

void* allocate(size_t n, const Request& request) {
  const size_t bytes = block_bytes(n, request.alignment);
  if (bytes == 0) return out_of_memory(n);
  if (hardened::is_on() && !is_manual_arena(request.arena)) return allocate_hardened(bytes, request);
  void* block = request.arena != kAnyArena             ? allocate_in(request.arena, bytes, request.alignment, request.zeroed)
                : is_small(bytes, request.alignment) ? acre::allocate(bytes)
                                                    : large::allocate(bytes, request.alignment, request.zeroed);
  if (block != nullptr && request.zeroed && is_small(bytes, request.alignment)) {
    // A sampled block of an arena that the program makes, or of a tag, has the whole pages of its class.
    memset(block, 0, ACRE_LIKELY(!sampler::is_on()) ? bytes : acre::block_bytes(find_block(block)));
  }
  return block;
}

// A block that moves stays in its arena and keeps its tag, unless the request names an arena.
static void* allocate_beside(const Found& found, const void* p, size_t n, size_t bytes, const Request& request) {
  if (request.arena != kAnyArena) return allocate(n, request);
  if (Tag* tag = tags::of(found, p)) return tags::allocate(*tag, bytes, request.alignment, request.zeroed);
  ManualArena* home = manual_arena_of(found);
  return home == nullptr ? allocate(n, request) : arenas::allocate_in(*home, bytes, request.alignment, request.zeroed);
}

// p: of malloc(0) in the hardened mode.
ACRE_COLD static void* reallocate_nothing(void* p, size_t n, const Request& request, const char* caller) {
  hardened::check_nothing(p, caller);
  void* moved = allocate(n, request);
  if (moved != nullptr) release(p);
  return moved;
}

void* reallocate(void* p, size_t n, const Request& request, const char* caller) {
  if (hardened::is_on() && hardened::is_nothing(p)) return reallocate_nothing(p, n, request, caller);
  const Found found = find_live_block(p, caller);
  const size_t bytes = block_bytes(n, request.alignment);
  if (bytes == 0) return out_of_memory(n);
  const size_t old_bytes = program_bytes(found, p, caller);
  if (void* resized = resize(found, p, old_bytes, larger<size_t>(n, 1), request)) return resized;
  void* moved = allocate_beside(found, p, n, bytes, request);
  if (moved == nullptr) return nullptr;
  if (hardened::is_on()) hardened::set_kind(moved, Kind::kRounded);
  memcpy(moved, p, smaller(bytes, old_bytes));
  release(p);
  return moved;
}

size_t resize_in_place(void* p, size_t least, size_t most, const Request& request, const char* caller) {
  if (hardened::is_on() && hardened::is_nothing(p)) return 0;
  const Found found = find_live_block(p, caller);
  const size_t old_bytes = program_bytes(found, p, caller);
  if (!may_stay_large(found, p, most, request.alignment)) return old_bytes;
  if (hardened::is_on()) found.run->made_by = Kind::kRounded;
  if (!large::resize_in_place(found.run, most) && old_bytes < least) large::resize_in_place(found.run, least);
  if (request.zeroed) zero_added(found, p, old_bytes);
  return program_bytes(found, p, caller);
}

void release_uncached(void* p) {
  const Slab* slab = find_block(p).slab;
  Heap* heap = heap_if_any();
  if (slab == nullptr || heap == nullptr) return release(p);
  const SizeClass c = slab->size_class;
  const uint32_t bound = heap->use(c).lists.bound;
  private_list::set_bound(*heap, c, 0);
  release(p);
  private_list::set_bound(*heap, c, bound);
}

}  // namespace acre::request
