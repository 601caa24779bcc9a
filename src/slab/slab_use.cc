#include "slab/slab_use.h"

namespace acre {

namespace {

RunState state_of(const Slab* slab, const RemoteWord& word) {
  if (racy_load(slab->shelf) == Shelf::kShared) return RunState::kShared;
  switch (word.holding) {
    case Holding::kFull: return RunState::kFull;
    case Holding::kBinned: return RunState::kBinned;
    default: return RunState::kOwned;
  }
}

}  // namespace

// By what slab/slab.h says of its counts. A shared run's deferred list has the hostage and blocks that came late.
SlabUse use_of(const Slab* slab) {
  SlabUse use;
  use.size_class = racy_load(slab->size_class);
  if (racy_load(slab->base) == 0 || use.size_class >= kSmallClasses) return use;
  const RunShape& shape = run_shape(use.size_class);
  const uint32_t capacity = shape.capacity;
  const RemoteWord word = load_remote(slab);
  const uint32_t carved = smaller<uint32_t>(racy_load(slab->carved), capacity);
  const bool is_open = racy_load(slab->free_list) != &slab->deferred;
  const int32_t counted = racy_load(slab->countdown) + racy_load(slab->floor);  // slab::used
  const uint32_t used = is_open ? carved : smaller(static_cast<uint32_t>(larger(counted, 0)), carved);
  const uint32_t deferred = carved - used;
  use.block_bytes = shape.block_bytes;
  use.state = state_of(slab, word);
  if (use.state == RunState::kOwned) {
    use.deferred = deferred;
    use.remote = smaller(word.free, used);
    use.uncarved = capacity - carved;
    use.live = used - use.remote;
  } else {
    use.unowned = smaller(word.free + (use.state == RunState::kShared ? deferred : 0), capacity);
    use.live = capacity - use.unowned;
  }
  return use;
}

}  // namespace acre
