#include "control/thread_caches.h"

#include "base/hash.h"
#include "cache/registry.h"
#include "control/list_walk.h"
#include "slab/slab_use.h"

namespace acre {

// The owner's place, or the empty one where it belongs.
ThreadCache* ThreadCaches::place_of(ThreadToken owner) {
  size_t at = owner * kHashFactor >> (64 - kPlacesLog2);
  while (table_[at].owner != owner && table_[at].owner != kNoThread) at = (at + 1) % (size_t{1} << kPlacesLog2);
  return &table_[at];
}

void ThreadCaches::gather() {
  for (ThreadCache& cache : table_) cache = {};
  count_ = 0;
  left_out_ = 0;
  const auto add = [](Heap& heap, void* argument) {
    auto& self = *static_cast<ThreadCaches*>(argument);
    const ThreadToken owner = racy_load(heap.token);
    if (heap.thread == 0 || owner == kNoThread) return;  // a fallback heap
    if (self.count_ == kMost) {
      ++self.left_out_;
      return;
    }
    ++self.count_;
    ThreadCache& cache = *self.place_of(owner);
    cache.owner = owner;
    cache.thread = heap.thread;
    cache.arena = racy_load(heap.arena->index);
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      const auto is_of_class = [c](const Slab* slab) { return racy_load(slab->size_class) == c; };
      cache.private_lists += walk_private_list(heap, c, is_of_class) * size_of_class(c);
    }
    heap.outbox().for_each_waiting([&cache](const Slab* slab, uint32_t blocks) {
      const SizeClass c = racy_load(slab->size_class);
      if (c < kSmallClasses) cache.outboxes += smaller<uint32_t>(blocks, run_shape(c).capacity) * size_of_class(c);
    });
  };
  registry::for_each(add, this);
  add_runs();
}

void ThreadCaches::add_runs() {
  g_page_map.for_each_run([this](const Run* run) {
    if (racy_load(run->kind) != RunKind::kSlab) return;
    const Slab* slab = racy_load(run->slab);
    if (slab == nullptr || racy_load(slab->base) != racy_load(run->base)) return;
    const ThreadToken owner = racy_load(slab->owner);
    if (owner == kNoThread) return;
    ThreadCache& cache = *place_of(owner);
    if (cache.owner != owner) return;
    const SlabUse use = use_of(slab);
    cache.deferred += uint64_t{use.deferred + use.remote} * use.block_bytes;
    cache.uncarved += uint64_t{use.uncarved} * use.block_bytes;
  });
}

}  // namespace acre
