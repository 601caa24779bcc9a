// The order in which the blocks of a run are first handed out: by address, or at random in the hardened mode.
#pragma once

#include "slab/slab.h"

namespace acre::slab {

inline constinit bool g_by_chance ACRE_HIDDEN = false;
ACRE_ALWAYS_INLINE bool is_by_chance() { return ACRE_UNLIKELY(g_by_chance); }

// From now on the order is random. Called once, before the first run is made.
void order_by_chance(uint64_t seed);

// While that is so, at least so many blocks are cut at a time, so that there is an order.
inline constexpr uint32_t kLeastCut = 16;

// As cut() (holder.h), in a random order.
Link* cut_by_chance(Slab* slab, uint32_t count, Link* tail);

}  // namespace acre::slab
