// The functions of the ctl nodes of arenas (nodes.h). Automatic arenas have the first numbers, manual arenas the
// numbers after them. Unless stated otherwise, functions return 0 or an error number, or set *error. EFAULT: no arena
// has this number, or the arena cannot do this.
#pragma once

#include "acre/extent_hooks.h"
#include "cache/registry.h"
#include "tables/options.h"

namespace acre::ctl {

// Returns the arena with this number, or null if it was not made yet. Makes the first arena if needed. The caller must
// have an arenas::Walk while it uses the arena.
PageHeap* pages_of(size_t index);

// index: one arena, kAllArenas, or the number of arenas, which meant all of them before jemalloc 5 and is still used by
// programs such as redis. Returns 0 even if there is no such arena.
int decay_arenas(size_t index);
int purge_arenas(size_t index);

// of: dirty_decay_ms or muzzy_decay_ms.
int64_t decay_time(Option of, size_t index, int* error);
int set_decay_time(Option of, size_t index, int64_t ms);

// --- Manual arenas

// hooks: the source of its memory; null: the source of all other memory. EAGAIN: memory is refused.
unsigned create_arena(const void* hooks, int* error);
// EFAULT also if another thread is resetting or destroying the arena.
int reset_arena(size_t index);
int destroy_arena(size_t index);

// An arena without hooks of its own has the default hooks, which use the system's memory.
extent_hooks_t* hooks_of(size_t index, int* error);
int set_hooks_of(size_t index, extent_hooks_t* hooks);

const char* name_of_arena(size_t index, int* error);
int set_name_of(size_t index, const char* name);

// The most bytes of address space to get at a time. SIZE_MAX: no limit.
size_t grow_limit_of(size_t index, int* error);
int set_grow_limit_of(size_t index, size_t bytes);

// Returns the number of the arena of a live block. EINVAL: it has none.
unsigned arena_of_block(const void* address, int* error);

}  // namespace acre::ctl
