#include "slab/bin.h"

#include "slab/lifecycle.h"
#include "slab/sharing.h"

namespace acre {

void Bin::insert(Slab* slab) {
  runs_.insert(slab);
  relaxed_store(slab->binned_in, this);
  relaxed_store(count_, count_ + 1);
}

void Bin::remove(Slab* slab) {
  runs_.remove(slab);
  relaxed_store(slab->binned_in, static_cast<Bin*>(nullptr));
  relaxed_store(count_, count_ - 1);
}

// All blocks free means that no thread can change the word any more, except one that takes the run under
// this lock.
bool Bin::take_if_all_free(Slab* slab) {
  RemoteWord word = load_remote(slab);
  if (word.holding != Holding::kBinned || word.free != slab->capacity) return false;
  while (!change_remote(slab, word, RemoteWord{})) {
  }
  return true;
}

bool Bin::offer(Slab* slab) {
  Lock lock(lock_);
  if (take_if_all_free(slab)) return true;
  insert(slab);
  return false;
}

bool Bin::reclaim(Slab* slab) {
  Lock lock(lock_);
  // The header may serve another run by now; binned_in names this bin only if it lies here, since that is
  // written under this lock.
  if (relaxed_load(slab->binned_in) != this || !take_if_all_free(slab)) return false;
  remove(slab);
  return true;
}

void Bin::clear() {
  if (seems_empty()) return;
  Lock lock(lock_);
  runs_ = {};
  relaxed_store(count_, uint32_t{0});
}

// The word less one block: the first of the list, or else one that was never cut. What a program may have written into a
// freed block is checked before it counts.
static RemoteWord less_one(const Slab* slab, RemoteWord word) {
  --word.free;
  if (word.head == 0) {
    --word.local;
    return word;
  }
  const Link* first = link_at(slab, head_block(slab, word));
  if (!is_block_start(slab, first) || !is_marked(slab, first)) overwritten_list();
  const LowAddress next = first->next;
  const bool is_last = word.free == word.local;  // of the list
  if (is_end(next) != is_last || (!is_last && !is_block_start(slab, link_at(slab, next)))) overwritten_list();
  word.head = is_last ? 0 : head_of(slab, high_part(slab->base) | next);
  return word;
}

// While the bin is locked, all that others do to a run in it is to add blocks: so the first block of the list stays there,
// with its link, until the change here succeeds. Afterwards the run cannot go away, for one of its blocks is here; and who
// frees another one in a run that has become full waits for the lock, to put it into the bin.
void* Bin::take_block() {
  if (seems_empty()) return nullptr;
  Lock lock(lock_);
  Slab* slab = runs_.min();
  if (slab == nullptr) return nullptr;
  RemoteWord word = load_remote(slab);
  RemoteWord rest;
  do {
    rest = less_one(slab, word);
    if (rest.free == 0) rest.holding = Holding::kFull;
  } while (!change_remote(slab, word, rest));
  if (rest.free == 0) remove(slab);
  const LowAddress first = word.head != 0 ? head_block(slab, word) : slab::carve(slab, 1, kEndOfList);
  return pointer_to(high_part(slab->base) | first);
}

Address Bin::lowest() {
  if (seems_empty()) return 0;
  Lock lock(lock_);
  const Slab* slab = runs_.min();
  return slab == nullptr ? 0 : slab->base;
}

Slab* Bin::take(ThreadToken owner) {
  if (seems_empty()) return nullptr;
  Lock lock(lock_);
  Slab* slab = runs_.min();
  if (slab == nullptr) return nullptr;
  remove(slab);
  RemoteWord word = load_remote(slab);
  RemoteWord owned;
  do {
    owned = word;
    owned.holding = Holding::kOwned;
    owned.free = word.free - word.local;
    owned.local = 0;
  } while (!change_remote(slab, word, owned));
  if (slab::is_shared(slab)) return slab;
  relaxed_store(slab->last_owner, owner);
  relaxed_store(slab->owner, owner);
  return slab;
}

}  // namespace acre
