// Where a slab run's header lies: found from any pointer in four instructions, without a load.
//
// The window is cut into units of 32 KiB, and a table has room for a header for each. A slab run begins at a
// unit, and its header is the unit's. So the header that belongs to a pointer in a run of one unit is
//     table + (pointer / unit) % units * sizeof(Slab).
// For any other pointer the same sum names some header too, which is either of no run or of another run: the
// caller must check that the pointer lies in it (geometry.h), and fall back on the page map. That holds for
// runs of several units, chunks outside of the window, other blocks and foreign pointers.
//
// The table is reserved address space (1/256 of the window), committed in steps as the window fills, so that
// mlockall() finds little to populate. Before start-up, and if there is no address space for it, the table is
// one header that belongs to no run.
#pragma once

#include "base/bits.h"
#include "base/mutex.h"
#include "slab/slab.h"
#include "tables/size_class.h"

namespace acre::unit_table {

inline constexpr size_t kUnitBytes = kUnitPayload;
inline constexpr unsigned kUnitShift = floor_log2(kUnitBytes);
static_assert(is_power_of_two(kUnitBytes));
inline constexpr unsigned kHeaderShift = 7;
static_assert(sizeof(Slab) == size_t{1} << kHeaderShift);

// Separate variables, so that each is an operand of one instruction.
extern constinit Address g_table ACRE_HIDDEN;
extern constinit size_t g_mask ACRE_HIDDEN;  // (covered units - 1) * sizeof(Slab); only grows

ACRE_ALWAYS_INLINE size_t offset_of(const void* p, const size_t& mask) {
  return (address_of(p) >> (kUnitShift - kHeaderShift)) & relaxed_load(mask);
}
ACRE_ALWAYS_INLINE Slab* at(const void* p) { return reinterpret_cast<Slab*>(g_table + offset_of(p, g_mask)); }

// The same for a caller that asks first whether it may (cache/direct.h): unless show_gated() was called, there is the header
// of no run for every pointer.
extern constinit Address g_gated_table ACRE_HIDDEN;
extern constinit size_t g_gated_mask ACRE_HIDDEN;
ACRE_ALWAYS_INLINE Slab* at_gated(const void* p) {
  return reinterpret_cast<Slab*>(g_gated_table + offset_of(p, g_gated_mask));
}
// Once, after initialise(), before any memory is obtained.
void show_gated();

// Reserves the table and places the window. Once, before any memory is obtained.
void initialise();

// A header for a slab run on these pages: the table's, or, where the table does not reach, a spare one.
// Null when memory is refused. The pages begin at a multiple of kUnitBytes.
Slab* header_for(const Run* run);
void drop_header(Slab* slab);

// Bytes of the table that hold headers of pages that were obtained; that are memory; that are address space.
size_t used_bytes();
size_t committed_bytes();
size_t reserved_bytes();

LockCounts lock_counts();

void at_fork(ForkStage stage);

}  // namespace acre::unit_table
