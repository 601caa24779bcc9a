// The ctl nodes arena.# and what belongs to them (nodes.h). Automatic arenas have the first numbers, manual arenas the
// numbers after them. EFAULT: no arena has this number, or the arena cannot do this.
#pragma once

#include "cache/registry.h"
#include "control/nodes.h"
#include "tables/options.h"

namespace acre::ctl {

// Returns the arena with this number, or null if it was not made yet. Makes the first arena if needed. The caller must
// have an arenas::Walk while it uses the arena.
PageHeap* pages_of(size_t index);

Handler arena_initialized;

// The number: one arena, kAllArenas, or the number of arenas, which meant all of them before jemalloc 5 and is still
// used by programs such as redis. These do nothing if there is no such arena.
Handler arena_decay, arena_purge;

// of: dirty_decay_ms or muzzy_decay_ms.
int set_decay_time(Option of, size_t index, int64_t ms);
Handler arena_dirty_decay_ms, arena_muzzy_decay_ms;

// An arena without hooks of its own has the default hooks, which use the system's memory. arenas_create is given the
// hooks; null: the source of all other memory.
Handler arenas_create, arena_reset, arena_destroy, arena_extent_hooks, arena_name;

// The most bytes of address space to get at a time. SIZE_MAX: no limit.
Handler arena_retain_grow_limit;

// The number of the arena of a live block. EINVAL: it has none.
Handler arenas_lookup;

}  // namespace acre::ctl
