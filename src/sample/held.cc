#include "sample/held.h"

#include "cache/sampled_run.h"
#include "pages/page_map.h"
#include "slab/slab_use.h"

namespace acre::held {

namespace {

double in_own_run(const Run* run) {
  if (run == nullptr || racy_load(run->kind) != RunKind::kSampled) return 0;
  const SampledRun* sampled = racy_load(run->sampled);
  if (sampled == nullptr) return 0;
  const size_t capacity = sampled->capacity;
  return share(capacity - smaller<size_t>(racy_load(sampled->free), capacity), capacity, sampled->block_bytes);
}

// A run that was returned would have stayed for this block alone. A thread's current run is kept for the thread: its
// blocks hold nothing.
double beside(const Run* run, size_t block_bytes) {
  size_t others = 0;
  if (run != nullptr && racy_load(run->kind) == RunKind::kSlab) {
    const Slab* slab = racy_load(run->slab);
    const SlabUse use = slab == nullptr ? SlabUse() : use_of(slab);
    if (use.block_bytes == block_bytes) {
      if (racy_load(slab->list) == OwnersList::kCurrent) return 0;
      others = use.live;
    }
  }
  return share(others + 1, run_shape(class_of_size(block_bytes)).capacity, block_bytes);
}

}  // namespace

double share(size_t live, size_t capacity, size_t block_bytes) {
  if (live == 0 || live * kSparse > capacity) return 0;
  return static_cast<double>((capacity - live) * block_bytes) / static_cast<double>(live);
}

double bytes(size_t block_bytes, Address place, Place is) {
  if (place == 0 || block_bytes > kSmallMax) return 0;
  const Run* run = g_page_map.find(pointer_to(place));
  return is == Place::kItsOwn ? in_own_run(run) : beside(run, block_bytes);
}

}  // namespace acre::held
