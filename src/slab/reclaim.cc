#include "slab/reclaim.h"

#include "slab/transitions.h"

namespace acre::slab {

bool is_all_free(const Slab* slab) {
  const int32_t used_blocks = acquire_load(slab->countdown) + slab->floor;  // pairs with defer()
  const RemoteWord word = acquire_remote(slab);
  return word.state == RunState::kOwned && used_blocks == static_cast<int32_t>(word.free);
}

Link* find_hostage(const Slab* slab) {
  Link* const head = acquire_load(slab->deferred);  // pairs with defer()
  const uint32_t blocks = walk_list(slab, head).count;
  const int32_t used_blocks = acquire_load(slab->countdown) + slab->floor;  // pairs with defer()
  return used_blocks == static_cast<int32_t>(slab->carved - blocks) ? head : nullptr;
}

// A late block is put before the hostage, whether its free has read the list's head yet or not.
uint32_t share(Slab* slab, Link* hostage) {
  relaxed_store(slab->owner, kNoThread);
  Link* const others = hostage->next();
  hostage->set_next(nullptr);
  const ListEnd end = walk_list(slab, others);
  const uint32_t local = slab->capacity - slab->carved;
  Bin* const bin = bin_of(slab);  // read first: after the change another thread may take blocks, but not the run
  RemoteWord word = load_remote(slab);
  RemoteWord next;
  do {
    next = word;
    if (end.count != 0) {
      end.last->set_next(head_block(slab, word));
      next.head = head_of(slab, others);
    }
    next.free = word.free + end.count + local;
    next.local = local;
    next.state = unowned_state(next.free, slab->enough, true);
  } while (!change_remote(slab, word, next));
  if (is_binned(next.state)) static_cast<void>(bin->offer(slab));  // never all free
  return end.count;
}

bool is_free_but_for_hostage(const Slab* slab) {
  const RemoteWord word = acquire_remote(slab);
  return is_shared(word.state) && word.free + 1 == slab->capacity;
}

uint32_t unshare(Slab* slab) {
  Link* const head = relaxed_load(slab->deferred);  // the caller's own store, or seen by share()
  const ListEnd end = walk_list(slab, head);
  relaxed_store(slab->deferred, static_cast<Link*>(nullptr));
  give_back_and_move(slab, head, end.last, end.count, GiveBack::kAndUnshare);
  return end.count;
}

}  // namespace acre::slab
