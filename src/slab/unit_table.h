// The place of a slab run's header, computed from any pointer in four instructions that read only two variables.
//
// The window is cut into units of 32 KiB, and a table has space for a header for each. A slab run begins at a unit, and
// its header is the unit's. So the header that belongs to a pointer into a run of one unit is
//     table + (pointer / unit) % units * sizeof(Slab).
// For any other pointer the sum names a header of no run, or of another run: for runs of several units, chunks outside
// of the window, other blocks and foreign pointers. So the caller has to check that the pointer lies in the header's
// run (geometry.h), and asks the page map if it does not.
//
// The table is reserved address space (1/256 of the window), committed in steps as the window fills, so that mlockall()
// populates little. The table begins at a random multiple of a header's size, and the window at a random place. Before
// start-up, and if there is no address space for it, the table is one header of no run.
// The mask is a power of two, so headers that it reaches before the window and behind what is committed can be read.
#pragma once

#include "base/bits.h"
#include "base/mutex.h"
#include "os/os.h"
#include "slab/slab.h"
#include "tables/size_class.h"

namespace acre::unit_table {

inline constexpr size_t kUnitBytes = kUnitPayload;
inline constexpr unsigned kUnitShift = floor_log2(kUnitBytes);
static_assert(is_power_of_two(kUnitBytes));
inline constexpr unsigned kHeaderShift = 7;
static_assert(sizeof(Slab) == size_t{1} << kHeaderShift);

// Separate variables, so that each is an operand of one instruction.
extern constinit Slab* g_table ACRE_HIDDEN;
extern constinit size_t g_mask ACRE_HIDDEN;  // (units with headers - 1) * sizeof(Slab); only grows

ACRE_ALWAYS_INLINE size_t offset_of(const void* p, const size_t& mask) {
  return (address_of(p) >> (kUnitShift - kHeaderShift)) & relaxed_load(mask);
}
ACRE_ALWAYS_INLINE Slab* header_in(Slab* table, size_t offset) {
  return reinterpret_cast<Slab*>(reinterpret_cast<char*>(table) + offset);
}
ACRE_ALWAYS_INLINE Slab* at(const void* p) { return header_in(g_table, offset_of(p, g_mask)); }

// The table itself. In the hardened mode, where each free takes the slow path, `at` leads to the header of no run.
extern constinit Slab* g_headers ACRE_HIDDEN;
extern constinit size_t g_headers_mask ACRE_HIDDEN;
ACRE_ALWAYS_INLINE Slab* header_at(const void* p) { return header_in(g_headers, offset_of(p, g_headers_mask)); }

// As `at`, for a caller that must not use the table before it is told so (cache/direct.h): until show_gated() is
// called, every pointer leads to the header of no run.
extern constinit Slab* g_gated_table ACRE_HIDDEN;
extern constinit size_t g_gated_mask ACRE_HIDDEN;
ACRE_ALWAYS_INLINE Slab* at_gated(const void* p) { return header_in(g_gated_table, offset_of(p, g_gated_mask)); }
// Called once, after initialise() and before any memory is obtained.
void show_gated();

// Where the window lies, for a table at this address: anywhere but where others grow. bytes: the window's size, a power
// of two.
struct Place {
  Address aligned;  // a multiple of the window's size, whose unit has the table's first header
  size_t skipped;   // bytes from there to the window's start
};
Place place_for(Address table, size_t bytes, const os::Secrets& secrets);

// Reserves the table and places the window. Called once, before any memory is obtained.
void initialise(const os::Secrets& secrets);

// The header of the window's first unit. Those of the others follow.
Slab* first_header();

// A header for a slab run on these pages, which begin at a multiple of kUnitBytes: the table's, or a spare one where
// the table does not reach. Null if memory is refused.
Slab* header_for(const Run* run);
void drop_header(Slab* slab);

// Bytes of the table: headers from the first one on, of addresses that were handed out; memory; address space.
size_t used_bytes();
size_t committed_bytes();
size_t reserved_bytes();

LockCounts lock_counts();

void at_fork(ForkStage stage);

}  // namespace acre::unit_table
