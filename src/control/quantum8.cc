#include "control/quantum8.h"

#include <errno.h>
#include <string.h>

#include "control/snapshot.h"

namespace acre::ctl::quantum8 {

namespace {

// The blocks of a run, or of some runs, if a run had the bin's number of blocks. Neither full nor empty by rounding.
size_t scale(size_t live, size_t runs, SizeClass c, uint32_t blocks) {
  const size_t capacity = run_shape(c).capacity;
  const size_t scaled = (live * blocks + capacity / 2) / capacity;
  if (live == runs * capacity || live == 0) return scaled;
  return larger<size_t>(smaller(scaled, runs * blocks - 1), 1);
}

size_t clamp(size_t n, size_t least, size_t most) { return larger(least, smaller(n, most)); }

RunFill fill(const void* block) {
  const Slab* slab = slab_of(block);
  const RunFill own = fill_of(block);
  if (slab == nullptr && (own.blocks == 0 || own.bytes > kSmallMax)) return own;  // no block, or a large one
  const SizeClass c = slab != nullptr ? slab->size_class : class_of_size(own.bytes);
  const unsigned bin = bin_of(size_of_class(c));
  const uint32_t blocks = bin_blocks(bin);
  const bool is_full = slab == nullptr || own.free == 0 || is_current(slab);
  const size_t live = is_full ? blocks : scale(own.blocks - own.free, 1, c, blocks);
  return {blocks - live, blocks, run_bytes(bin)};
}

}  // namespace

BinFill fill_of_bin(const Call& call) {
  BinFill sum;
  const uint32_t blocks = bin_blocks(static_cast<unsigned>(call.second));
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (bin_of(size_of_class(c)) != call.second) continue;
    const ClassStatistics figures = class_figures(call.index, c);
    const size_t full = figures.runs - figures.nonfull;
    sum.live += clamp(scale(figures.live, figures.runs, c, blocks), full * blocks, figures.runs * blocks);
    sum.runs += figures.runs;
    sum.nonfull += figures.nonfull;
  }
  return sum;
}

int query(Call& call) { return answer_batch(call, fill); }

}  // namespace acre::ctl::quantum8
