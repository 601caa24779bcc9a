// What the ctl nodes of arenas call (nodes.h). Numbers are those of automatic arenas, and after them of manual ones.
// Functions return 0 or an error number, or set *error: EFAULT where there is no arena with this number, or it cannot do
// that, unless they say otherwise.
#pragma once

#include "acre/extent_hooks.h"
#include "cache/registry.h"
#include "tables/options.h"

namespace acre::ctl {

// The arena with this number, if it was made yet; the first one is made. To be looked into within an arenas::Walk.
PageHeap* pages_of(size_t index);

// Of one arena, or of all: before jemalloc 5 the number of arenas stood for all of them, and programs such as redis still
// ask so. 0 as well where there is none.
int decay_arenas(size_t index);
int purge_arenas(size_t index);

// of: dirty_decay_ms or muzzy_decay_ms.
int64_t decay_time(Option of, size_t index, int* error);
int set_decay_time(Option of, size_t index, int64_t ms);

// --- Manual arenas

// hooks: where its memory comes from; null: from where all memory does. EAGAIN: no memory.
unsigned create_arena(const void* hooks, int* error);
// EFAULT also if another thread resets or destroys it just now.
int reset_arena(size_t index);
int destroy_arena(size_t index);

// Those of arenas that have none are the ones over the system's memory.
extent_hooks_t* hooks_of(size_t index, int* error);
int set_hooks_of(size_t index, extent_hooks_t* hooks);

const char* name_of_arena(size_t index, int* error);
int set_name_of(size_t index, const char* name);

// The most that is got at a time; SIZE_MAX: no limit.
size_t grow_limit_of(size_t index, int* error);
int set_grow_limit_of(size_t index, size_t bytes);

// The number of the arena that a live block is from. EINVAL: it has none.
unsigned arena_of_block(const void* address, int* error);

}  // namespace acre::ctl
