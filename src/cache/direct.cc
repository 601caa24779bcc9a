#include "cache/direct.h"

#include "os/operators.h"

namespace acre::direct {

namespace {

void* nothing(size_t) { return nullptr; }
void* nothing_aligned(size_t, size_t) { return nullptr; }

}  // namespace

constinit size_t g_sizes = 0;
constinit AllocateSlow* g_allocate_slow = nothing;
constinit AllocateAligned* g_allocate_aligned = nothing_aligned;

void start() {
  if (os::base_operators_are_replaced()) return;
  g_sizes = kTableMax + 1;
  g_allocate_slow = acre::allocate_slow;
  g_allocate_aligned = acre::allocate_aligned;
  unit_table::show_gated();
}

}  // namespace acre::direct
