// The functions of include/acre/tcmalloc.h.
#include "acre/tcmalloc.h"

#include "cache/upcalls.h"
#include "cache/new_handler.h"
#include "cache/registry.h"
#include "cache/verify.h"
#include "control/block_lists.h"
#include "control/properties.h"
#include "entry/api.h"
#include "observe/hooks.h"
#include "pages/source.h"
#include "sample/profile.h"

using namespace acre;

static_assert(ACRE_BLOCK_SIZES == block_lists::kHistogramSize);

extern "C" {

ACRE_EXPORT int acre_get_property(const char* name, size_t* value) {
  start_process();
  return properties::get(name, value);
}
ACRE_EXPORT int acre_set_property(const char* name, size_t value) {
  start_process();
  return properties::set(name, value);
}
ACRE_EXPORT double acre_get_release_rate() {
  start_process();
  return properties::release_rate();
}
ACRE_EXPORT int acre_set_release_rate(double rate) {
  start_process();
  return properties::set_release_rate(rate) ? 0 : -1;
}

ACRE_EXPORT size_t acre_release_memory(size_t bytes) { return api::release_memory(bytes); }

ACRE_EXPORT size_t acre_thread_cache_bytes() { return block_lists::thread_cache_bytes(); }

ACRE_EXPORT int acre_verify_memory() {
  Heap* heap = heap_if_any();
  return heap == nullptr || lists_are_whole(*heap);
}

ACRE_EXPORT void acre_block_sizes(size_t* blocks, size_t* bytes, size_t by_size[ACRE_BLOCK_SIZES]) {
  const block_lists::BlockSizes sizes = block_lists::block_sizes();
  *blocks = sizes.blocks;
  *bytes = sizes.bytes;
  for (unsigned i = 0; i < ACRE_BLOCK_SIZES; ++i) by_size[i] = sizes.by_size[i];
}

ACRE_EXPORT void acre_free_lists(void (*visit)(void* opaque, size_t least, size_t most, size_t bytes, const char* type),
                                 void* opaque) {
  block_lists::free_lists(visit, opaque);
}

ACRE_EXPORT void acre_ranges(void (*visit)(void* opaque, uintptr_t start, size_t bytes, int kind, double fraction),
                             void* opaque) {
  block_lists::ranges(visit, opaque);
}

ACRE_EXPORT size_t acre_profile_stacks(int of, void (*visit)(void* opaque, size_t blocks, size_t bytes,
                                                             const uintptr_t* frames, unsigned depth), void* opaque) {
  if (!profile::is_prepared()) return 0;
  for (const profile::Stack* stack = nullptr; (stack = profile::next(stack)) != nullptr;) {
    const profile::StackSums sums = profile::sums_of(stack);
    const size_t blocks = of == ACRE_STACKS_OF_GROWTH ? sums.grown : sums.live.blocks;
    const Address* frames;
    const unsigned depth = profile::frames_of(stack, &frames);
    if (blocks == 0) continue;
    visit(opaque, blocks, of == ACRE_STACKS_OF_GROWTH ? sums.grown_bytes : sums.live.bytes, frames, depth);
  }
  return profile::mean() == 0 ? 1 : profile::mean();
}

ACRE_EXPORT void acre_set_refused_handler(int (*handler)(void)) { new_handler::set_handler(handler); }

// Holds the lock that a fork takes first, since the locks that the fork takes next depend on this source.
ACRE_EXPORT int acre_set_system_allocator(void* (*allocate)(void* opaque, size_t bytes, size_t* actual,
                                                             size_t alignment), void* opaque) {
  start_process();
  const ProgramSource::Function* function = allocate == nullptr ? nullptr : ProgramSource::make(allocate, opaque);
  if (allocate != nullptr && function == nullptr) return -1;
  Lock lock(registry::control_lock);
  Source::use_program(function);
  return 0;
}
ACRE_EXPORT void* acre_system_allocate(size_t bytes, size_t* actual, size_t alignment) {
  start_process();
  return ProgramSource::map_system(bytes, actual, alignment);
}

ACRE_EXPORT int acre_add_new_hook(void (*hook)(const void* block, size_t bytes)) { return hooks::add(hook); }
ACRE_EXPORT int acre_remove_new_hook(void (*hook)(const void* block, size_t bytes)) { return hooks::remove(hook); }
ACRE_EXPORT int acre_add_delete_hook(void (*hook)(const void* block)) { return hooks::add(hook); }
ACRE_EXPORT int acre_remove_delete_hook(void (*hook)(const void* block)) { return hooks::remove(hook); }

}  // extern "C"
