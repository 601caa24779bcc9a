#include "slab/slab_use.h"

namespace acre {

// See the accounting in slab/slab.h. The deferred list of a shared run has the hostage, and seldom more.
SlabUse use_of(const Slab* slab) {
  SlabUse use;
  use.size_class = racy_load(slab->size_class);
  if (racy_load(slab->base) == 0 || use.size_class >= kSmallClasses) return use;
  const RunShape& shape = run_shape(use.size_class);
  const uint32_t capacity = smaller<uint32_t>(racy_load(slab->capacity), shape.capacity);
  const RemoteWord word = load_remote(slab);
  const uint32_t carved = smaller<uint32_t>(racy_load(slab->carved), capacity);
  const int32_t counted = racy_load(slab->countdown) + racy_load(slab->floor);  // slab::used
  const uint32_t used = smaller(static_cast<uint32_t>(larger(counted, 0)), carved);
  const uint32_t deferred = carved - used;
  use.block_bytes = shape.block_bytes;
  use.state = word.state;
  use.capacity = capacity;
  if (use.state == RunState::kOwned) {
    use.deferred = deferred;
    use.remote = smaller(word.free, used);
    use.uncarved = capacity - carved;
    use.live = used - use.remote;
  } else {
    use.unowned = smaller(word.free + is_shared(use.state), capacity);
    use.live = capacity - use.unowned;
  }
  return use;
}

}  // namespace acre
