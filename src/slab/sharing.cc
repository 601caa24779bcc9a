#include "slab/sharing.h"

#include "slab/lifecycle.h"

namespace acre::slab {

namespace {

// Through `floor`, since a late free subtracts from `countdown`.
void count_as_used(Slab* slab, uint32_t blocks) {
  __atomic_fetch_add(&slab->floor, static_cast<int32_t>(blocks), __ATOMIC_RELAXED);
}

uint32_t uncarved(const Slab* slab) { return slab->capacity - slab->carved; }

}  // namespace

LowAddress find_hostage(const Slab* slab) {
  const LowAddress head = acquire_load(slab->deferred);
  const uint32_t blocks = walk_list(slab, head).count;
  const int32_t used_blocks = acquire_load(slab->countdown) + slab->floor;
  return used_blocks == static_cast<int32_t>(slab->carved - blocks) ? head : kEndOfList;
}

// A late block is put before the hostage, whether that free has read the list's head by now or not.
uint32_t share(Slab* slab, LowAddress hostage) {
  relaxed_store(slab->owner, kNoThread);
  relaxed_store(slab->last_owner, kNoThread);  // a run that is adopted is owned
  release_store(slab->shelf, Shelf::kShared);
  const LowAddress others = link_at(slab, hostage)->next;
  link_at(slab, hostage)->next = kEndOfList;
  ListEnd end;
  if (!is_end(others)) {
    end = walk_list(slab, others);
    count_as_used(slab, end.count);
    give_back(slab, others, end.last, end.count);
  }
  give_up(slab, uncarved(slab));
  return end.count;
}

bool is_free_but_for_hostage(const Slab* slab) {
  const RemoteWord word = load_remote(slab);
  return word.holding != Holding::kOwned && word.free + 1 == slab->capacity;
}

// Somebody who harvests the run meanwhile goes on as if it were shared, and is right: what is uncarved is still all
// that is local.
uint32_t unshare(Slab* slab) {
  const LowAddress head = acquire_load(slab->deferred);
  const ListEnd end = walk_list(slab, head);
  relaxed_store(slab->deferred, kEndOfList);
  count_as_used(slab, end.count);
  release_store(slab->shelf, Shelf::kNone);
  give_back(slab, head, end.last, end.count);
  return end.count;
}

LowAddress harvest(Slab* slab, uint32_t fresh, uint64_t* sum) {
  LowAddress head = collect_remote(slab, sum);
  const uint32_t cutting = smaller(fresh, uncarved(slab));
  if (cutting != 0) {
    head = cut(slab, cutting, head);
    count_as_used(slab, cutting);
    *sum += cutting;
  }
  give_up(slab, uncarved(slab));
  return head;
}

}  // namespace acre::slab
