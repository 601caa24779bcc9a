#include "slab/bin.h"

#include "slab/purge.h"
#include "slab/transitions.h"

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

ACRE_NOINLINE void Bin::insert_again(Slab* slab) { insert(slab); }

// If all blocks are free, no thread can change the word, except one that takes the run under this lock.
bool Bin::take_if_all_free(Slab* slab) {
  RemoteWord word = load_remote(slab);
  if (word.state != RunState::kBinned || word.free != slab->capacity) return false;
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
  // The header may serve another run by now. binned_in names this bin only if the header's run is in it, since it is
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

// Takes the run out of the bin if its new word says full, or puts it back. is_here: whether the run is in the bin now.
ACRE_ALWAYS_INLINE bool Bin::keep_if_binned(Slab* slab, uint64_t bits, bool is_here) {
  if (is_full(RemoteWord::state_in(bits))) {
    if (is_here) remove(slab);
    return false;
  }
  if (ACRE_UNLIKELY(!is_here)) insert_again(slab);
  return true;
}

// While the bin is locked, other threads can only add blocks to a run in it. So the part of the remote list that was
// walked stays as it is until the change of the word succeeds. The rest of the header is the locker's, but for the
// deferred list of a shared run. Links are checked, since the program may have written into freed blocks. The change of
// the word comes last: if it makes the run full, the last owner may adopt the run from then on.
ACRE_ALWAYS_INLINE BlockList Bin::take_blocks_of(Slab* slab, uint32_t most) {
  const uint64_t bits = slab->remote.load(std::memory_order_acquire);  // for the links: pairs with give_back()
  if (RemoteWord::head_in(bits) != 0) return take_listed(slab, bits, most);
  return ACRE_UNLIKELY(slab::has_purged(slab)) ? take_of_purged(slab, bits, most) : take_local(slab, bits, most);
}

// Uncut blocks come last.
ACRE_COLD BlockList Bin::take_of_purged(Slab* slab, uint64_t bits, uint32_t most) {
  const bool has_deferred = !is_shared(RemoteWord::state_in(bits)) && slab->deferred != nullptr;
  if (has_deferred || slab->carved != slab->capacity) return take_local(slab, bits, most);
  slab::list_local(slab, slab::restore(slab));
  return take_listed(slab, slab->remote.load(std::memory_order_acquire), most);
}

ACRE_ALWAYS_INLINE BlockList Bin::take_listed(Slab* slab, uint64_t bits, uint32_t most) {
  bool stays = true;
  uint64_t rest;
  Link* head;
  Link* last;
  uint32_t count;
  do {
    head = head_block(slab, RemoteWord::head_in(bits));
    last = checked_link(slab, head);
    for (count = 1; count != most && last->next() != nullptr; ++count) last = checked_link(slab, last->next());
    Link* const next = last->next();
    if ((next == nullptr) != (count == RemoteWord::listed_in(bits))) overwritten_list();
    if (next != nullptr && !is_block_start(slab, next)) overwritten_list();
    rest = RemoteWord::less_listed(bits, count, next == nullptr ? 0 : head_of(slab, next), slab->enough);
    stays = keep_if_binned(slab, rest, stays);
    // As change_remote(); acquire on failure for the links.
  } while (!slab->remote.compare_exchange_weak(bits, rest, std::memory_order_acq_rel, std::memory_order_acquire));
  last->set_next(nullptr);
  return {slab, head, count};
}

// Takes deferred blocks, or blocks not carved yet; not uncut ones. The deferred list of a shared run belongs to the former owner.
BlockList Bin::take_local(Slab* slab, uint64_t bits, uint32_t most) {
  BlockList taken{slab, is_shared(RemoteWord::state_in(bits)) ? nullptr : slab->deferred, 0};
  if (taken.head == nullptr) {
    taken.count = smaller<uint32_t>(most, slab->capacity - slab->carved);
    taken.head = slab::cut(slab, taken.count, nullptr);
  } else {
    Link* last = checked_link(slab, taken.head);
    for (taken.count = 1; taken.count != most && last->next() != nullptr; ++taken.count) {
      last = checked_link(slab, last->next());
    }
    slab->deferred = last->next();
    last->set_next(nullptr);
  }
  bool stays = true;
  uint64_t rest;
  do {
    rest = RemoteWord::less_local(bits, taken.count, slab->enough);
    stays = keep_if_binned(slab, rest, stays);
    // Release alone: what others wrote is not read from here on.
  } while (!slab->remote.compare_exchange_weak(bits, rest, std::memory_order_release, std::memory_order_relaxed));
  return taken;
}

BlockList Bin::take_blocks(uint32_t most) {
  if (seems_empty()) return {};
  Lock lock(lock_);
  Slab* slab = runs_.min();
  if (slab == nullptr) return {};
  return most == 1 ? take_blocks_of(slab, 1) : take_blocks_of(slab, most);
}

Address Bin::lowest() {
  if (seems_empty()) return 0;
  Lock lock(lock_);
  const Slab* slab = runs_.min();
  return slab == nullptr ? 0 : slab->base;
}

// Takes a run that is not shared.
ACRE_ALWAYS_INLINE void Bin::take_out(Slab* slab, RemoteWord word, Owner owner) {
  remove(slab);
  while (!change_remote(slab, word, word.owned())) {
  }
  slab::begin_ownership(slab, word, owner);
  if (ACRE_UNLIKELY(slab::has_purged(slab))) slab::restore_all(slab);
}

ACRE_APART bool Bin::take_this(Slab* slab, Owner owner) {
  Lock lock(lock_);
  if (relaxed_load(slab->binned_in) != this) return false;
  const RemoteWord word = load_remote(slab);
  if (is_shared(word.state)) return false;
  take_out(slab, word, owner);
  return true;
}

Bin::Taken Bin::take(Owner owner, uint32_t most) {
  if (seems_empty()) return {};
  Lock lock(lock_);
  Slab* slab = runs_.min();
  if (slab == nullptr) return {};
  const RemoteWord word = load_remote(slab);
  if (is_shared(word.state)) return {nullptr, take_blocks_of(slab, most)};
  take_out(slab, word, owner);
  return {slab, {}};
}

}  // namespace acre
