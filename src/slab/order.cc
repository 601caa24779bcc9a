#include "slab/order.h"

#include "base/hash.h"
#include "slab/free_list.h"
#include "slab/geometry.h"

namespace acre::slab {

namespace {

constexpr uint32_t kMostAtOnce = 256;  // on the stack, which may be small

constinit uint64_t g_seed = 0;
constinit std::atomic<uint64_t> g_cuts{0};

}  // namespace

ACRE_COLD void order_by_chance(uint64_t seed) {
  g_seed = seed;
  g_by_chance = true;
}

// Fisher and Yates' shuffle, from the inside out, of kMostAtOnce blocks at a time.
ACRE_COLD Link* cut_by_chance(Slab* slab, uint32_t count, Link* tail) {
  uint64_t random = (g_seed + g_cuts.fetch_add(1, std::memory_order_relaxed)) * kHashFactor ^ slab->base;
  uint16_t order[kMostAtOnce];
  uint32_t first = slab->carved;
  set_carved(slab, first + count);
  while (count != 0) {
    const uint32_t now = smaller(count, kMostAtOnce);
    for (uint32_t i = 0; i < now; ++i) {
      random = random * 6364136223846793005 + g_seed;  // Knuth, MMIX: The Art of Computer Programming 3.3.4
      const auto j = static_cast<uint32_t>((random >> 32) * (i + 1) >> 32);
      order[i] = order[j];
      order[j] = static_cast<uint16_t>(i);
    }
    for (uint32_t i = 0; i < now; ++i) {
      const Address block = slab->base + size_t{first + order[i]} * slab->block_bytes;
      write_link(pointer_to(block), tail);
      tail = link_of(block);
    }
    first += now;
    count -= now;
  }
  return tail;
}

}  // namespace acre::slab
