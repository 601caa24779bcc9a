// The functions of include/acre/heap.h.
#include "acre/heap.h"

#include <errno.h>

#include "entry/api.h"
#include "manual/manual_arena.h"

using namespace acre;

namespace {

ManualArena& arena_of_heap(acre_heap_t* heap) { return *reinterpret_cast<ManualArena*>(heap); }

int64_t decay_ms(long long setting) {
  if (setting == ACRE_DECAY_BY_OPTIONS) return arenas::ArenaSettings::kAsOptions;
  return setting == ACRE_DECAY_AT_ONCE ? 0 : smaller<int64_t>(larger<int64_t>(setting, -1), kMostMs);
}

FileSettings file_settings(const acre_heap_settings& from) {
  FileSettings file;
  file.path = from.file != nullptr ? from.file : from.device;
  file.kind = from.file != nullptr ? os::FileKind::kMemory : os::FileKind::kDevice;
  file.sharing = from.is_private ? os::Sharing::kPrivate : os::Sharing::kShared;
  file.start = from.file != nullptr ? 0 : from.start;
  if (from.source_limit != 0) file.end = from.source_limit;
  return file;
}

}  // namespace

extern "C" {

ACRE_EXPORT acre_heap_t* acre_heap_create(const struct acre_heap_settings* wanted) {
  arenas::ArenaSettings settings;
  FileSettings file;
  if (wanted != nullptr) {
    if (wanted->name != nullptr) settings.name = wanted->name;
    if (wanted->limit != 0) settings.limit = wanted->limit;
    if (wanted->soft_limit != 0) settings.soft_limit = wanted->soft_limit;
    settings.on_soft_limit = wanted->on_soft_limit;
    settings.argument = wanted->argument;
    settings.dirty_decay_ms = decay_ms(wanted->dirty_decay_ms);
    settings.muzzy_decay_ms = decay_ms(wanted->muzzy_decay_ms);
    settings.hooks = wanted->hooks;
    file = file_settings(*wanted);
    if (file.path != nullptr) settings.file = &file;
    if (wanted->failure == ACRE_HEAP_FALL_BACK) settings.on_failure = OnFailure::kFallBack;
    if (wanted->failure == ACRE_HEAP_ABORT) settings.on_failure = OnFailure::kAbort;
  }
  ManualArena* arena = arenas::create(settings);
  if (arena == nullptr) errno = settings.file == nullptr ? ENOMEM : ENODEV;
  return reinterpret_cast<acre_heap_t*>(arena);
}

ACRE_EXPORT void* acre_heap_malloc(acre_heap_t* heap, size_t size) {
  return arenas::allocate_in(arena_of_heap(heap), size, 1, false);
}

ACRE_EXPORT void* acre_heap_calloc(acre_heap_t* heap, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return api::out_of_memory();
  return arenas::allocate_in(arena_of_heap(heap), bytes, 1, true);
}

ACRE_EXPORT void* acre_heap_aligned_alloc(acre_heap_t* heap, size_t alignment, size_t size) {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return arenas::allocate_in(arena_of_heap(heap), size, alignment, false);
}

ACRE_EXPORT void* acre_heap_realloc(acre_heap_t* heap, void* block, size_t size) {
  if (block == nullptr) return acre_heap_malloc(heap, size);
  if (size == 0) {
    release(block);
    return nullptr;
  }
  return arenas::reallocate_in(arena_of_heap(heap), block, size);
}

ACRE_EXPORT void acre_heap_reset(acre_heap_t* heap) { arenas::reset(arena_of_heap(heap)); }
ACRE_EXPORT void acre_heap_destroy(acre_heap_t* heap) { arenas::destroy(arena_of_heap(heap)); }
ACRE_EXPORT size_t acre_heap_bytes(const acre_heap_t* heap) {
  return arenas::bytes_in_use(*reinterpret_cast<const ManualArena*>(heap));
}

ACRE_EXPORT acre_heap_t* acre_heap_of(const void* block) {
  const Found found = find_block(block);
  if (found.slab == nullptr && found.run == nullptr) return nullptr;
  return reinterpret_cast<acre_heap_t*>(manual_arena_of(found));
}

}  // extern "C"
