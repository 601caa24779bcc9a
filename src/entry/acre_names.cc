// The functions of include/acre/acre.h.
#include "acre/acre.h"

#include "cache/upcalls.h"
#include "cache/registry.h"
#include "entry/api.h"
#include "reclaim/pressure.h"
#include "tables/options.h"

using namespace acre;

extern "C" {

ACRE_EXPORT void* acre_malloc(size_t size) { return allocate(size); }
ACRE_EXPORT void acre_free(void* block) { release(block); }
ACRE_EXPORT void* acre_calloc(size_t count, size_t size) { return api::calloc(count, size); }
ACRE_EXPORT void* acre_realloc(void* block, size_t size) { return api::realloc(block, size); }
ACRE_EXPORT void* acre_reallocarray(void* block, size_t count, size_t size) {
  return api::reallocarray(block, count, size);
}
ACRE_EXPORT void acre_free_sized(void* block, size_t size) { api::free_sized(block, size); }
ACRE_EXPORT void acre_free_aligned_sized(void* block, size_t alignment, size_t size) {
  api::free_aligned_sized(block, alignment, size);
}
ACRE_EXPORT void acre_cfree(void* block) { release(block, "cfree"); }
ACRE_EXPORT void* acre_aligned_alloc(size_t alignment, size_t size) { return api::aligned_alloc(alignment, size); }
ACRE_EXPORT void* acre_memalign(size_t alignment, size_t size) { return api::memalign(alignment, size); }
ACRE_EXPORT int acre_posix_memalign(void** block, size_t alignment, size_t size) {
  return api::posix_memalign(block, alignment, size);
}
ACRE_EXPORT void* acre_valloc(size_t size) { return allocate_aligned(size, os::page_bytes()); }
ACRE_EXPORT void* acre_pvalloc(size_t size) { return api::pvalloc(size); }
ACRE_EXPORT size_t acre_malloc_usable_size(const void* block) { return api::malloc_usable_size(block); }
ACRE_EXPORT int acre_malloc_trim(size_t pad) { return api::malloc_trim(pad); }
ACRE_EXPORT void acre_malloc_stats() { api::malloc_stats(); }
ACRE_EXPORT const char* acre_version() { return ACRE_VERSION; }
ACRE_EXPORT int acre_owns(const void* block) { return api::owns(block); }

ACRE_EXPORT void acre_on_soft_limit(void (*callback)(size_t held, size_t limit, void* argument), void* argument) {
  pressure::set_callback(callback, argument);
}

ACRE_EXPORT int acre_size_class_info(unsigned index, struct acre_size_class* out) {
  if (index >= kSmallClasses) return -1;
  const RunShape& shape = run_shape(index);
  out->size = shape.block_bytes;
  out->run_bytes = shape.pages * kPageBytes;
  out->blocks = shape.capacity;
  out->alignment = smaller<size_t>(largest_power_of_two_in(shape.block_bytes), kSmallMax);
  out->smallest_request = index == 0 ? 0 : size_of_class(index - 1) + 1;
  return 0;
}

ACRE_EXPORT int acre_option_info(unsigned index, struct acre_option* out) {
  static constexpr char kTypes[][8] = {"bool", "number", "bytes", "choice", "path"};
  if (index >= kOptionCount) return -1;
  start_process();  // reads the options if nothing was allocated before
  const OptionInfo& info = kOptionTable[index];
  out->name = info.name;
  out->type = kTypes[static_cast<unsigned>(info.type)];
  out->choices = option_value_name(index, 0);
  out->default_value = info.initial;
  out->least = info.least;
  out->most = info.most;
  out->value = option_value(index);
  out->source = name_of(option_source(index));
  out->changeable = info.change == Change::kAnyTime;
  out->help = option_help(index);
  out->text = info.type == OptionType::kPath ? path_of(out->value) : "";
  return 0;
}

}  // extern "C"
