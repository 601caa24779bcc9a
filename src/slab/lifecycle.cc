#include "slab/lifecycle.h"

#include "slab/labels.h"
#include "slab/unit_table.h"

namespace acre {

void overwritten_list() {
  fatal("a list of free blocks was overwritten (write after free, or past a block's end)");
}

// A list that was overwritten leads out of its run, to a block without the mark, or in a circle.
ListEnd walk_list(const Slab* slab, LowAddress head) {
  ListEnd end;
  for (LowAddress low = head; !is_end(low); low = end.last->next) {
    Link* link = link_at(slab, low);
    if (!is_block_start(slab, link) || !is_marked(slab, link) || end.count == slab->capacity) {
      overwritten_list();
    }
    end.last = link;
    ++end.count;
  }
  return end;
}

namespace slab {

Slab* make(Run* run, SizeClass c, ThreadToken owner) {
  Slab* slab = unit_table::header_for(run);
  if (slab == nullptr) return nullptr;
  const RunShape& shape = run_shape(c);
  const Arena* arena = arena_with(run->home);
  if (ACRE_UNLIKELY(arena->is_labelled) && !labels::attach(run, c)) {
    unit_table::drop_header(slab);
    return nullptr;
  }
  slab->run = run;
  relaxed_store(slab->divide, kGeometries.geometry[c].divide);
  slab->block_bytes = static_cast<uint16_t>(shape.block_bytes);
  slab->capacity = shape.capacity;
  slab->enough = shape.enough;
  slab->pages = static_cast<uint8_t>(shape.pages);
  slab->size_class = static_cast<uint8_t>(c);
  slab->is_explicit = arena->is_explicit;
  slab->is_labelled = arena->is_labelled;
  slab->by_outbox = !arena->is_explicit && !is_common(c);
  slab->deferred = kEndOfList;
  slab->free_list = &slab->deferred;
  slab->shelf = Shelf::kNone;
  set_carved(slab, 0);
  relaxed_store(slab->base, run->base);
  watch(slab, 0, 0);
  reset_remote(slab);
  relaxed_store(slab->last_owner, owner);
  relaxed_store(slab->owner, owner);
  run->home->make_slab(run, slab);
  return slab;
}

bool is_all_free(const Slab* slab) {
  const int32_t used_blocks = __atomic_load_n(&slab->countdown, __ATOMIC_ACQUIRE) + slab->floor;
  const RemoteWord word = load_remote(slab);
  return word.holding == Holding::kOwned && used_blocks == static_cast<int32_t>(word.free);
}

LowAddress cut(Slab* slab, uint32_t count, LowAddress tail) {
  Address first = slab->base + size_t{slab->carved} * slab->block_bytes;
  Address block = first;
  for (uint32_t i = 1; i < count; ++i) {
    Address next = block + slab->block_bytes;
    write_link(slab, pointer_to(block), low_address(next));
    block = next;
  }
  write_link(slab, pointer_to(block), tail);
  set_carved(slab, slab->carved + count);
  return low_address(first);
}

LowAddress carve(Slab* slab, uint32_t count, LowAddress tail) {
  slab->countdown += static_cast<int32_t>(count);
  return cut(slab, count, tail);
}

LowAddress collect_remote(Slab* slab, uint64_t* sum) {
  RemoteWord word = load_remote(slab);
  while (!change_remote(slab, word, RemoteWord{})) {
  }
  *sum += word.free;
  return head_block(slab, word);
}

LowAddress take_some(Slab* slab, uint32_t count, uint64_t* sum) {
  if (is_end(slab->deferred)) {
    uint64_t collected = 0;
    const LowAddress remote = collect_remote(slab, &collected);
    if (!is_end(remote)) return_list(slab, remote);
  }
  const LowAddress head = slab->deferred;
  if (is_end(head)) {
    const uint32_t fresh = smaller<uint32_t>(count, slab->capacity - slab->carved);
    *sum += fresh;
    return carve(slab, fresh, kEndOfList);
  }
  const CutOff cut = cut_off(high_part(slab->base), head, count);
  slab->deferred = cut.rest;
  slab->countdown += static_cast<int32_t>(cut.count);
  *sum += cut.count;
  return head;
}

uint32_t return_list(Slab* slab, LowAddress head) {
  ListEnd end = walk_list(slab, head);
  end.last->next = slab->deferred;
  slab->deferred = head;
  slab->countdown -= static_cast<int32_t>(end.count);
  return end.count;
}

void free_pages(Slab* slab) {
  relaxed_store(slab->owner, kNoThread);
  bool touched = slab->carved != 0;
  relaxed_store(slab->limit, uint64_t{0});
  relaxed_store(slab->base, Address{0});
  Run* run = slab->run;
  if (ACRE_UNLIKELY(slab->is_labelled)) labels::detach(run, slab->size_class);
  unit_table::drop_header(slab);
  run->home->free(run, touched);
}

// The run is about to be put into its bin.
ACRE_COLD static void note_bin_of(Slab* slab) { arena_of(slab)->note_bin(slab->size_class); }

// In the child of a fork another thread may have been about to do this in the parent: then the header is no longer the
// run's.
void discard(Run* run) {
  Slab* slab = run->slab;
  if (slab->run != run || relaxed_load(slab->base) != run->base) return run->home->free(run, true);
  relaxed_store(slab->binned_in, static_cast<Bin*>(nullptr));
  free_pages(slab);
}

ACRE_ALWAYS_INLINE static void give_up_inlined(Slab* slab, uint32_t local) {
  RemoteWord word = load_remote(slab);
  RemoteWord given_up;
  Bin* bin = nullptr;
  do {
    given_up = word;
    given_up.free = word.free + local;
    given_up.local = local;
    if (given_up.free == slab->capacity) return free_pages(slab);  // no block is out: the word cannot change
    given_up.holding = Holding::kFull;
    if (given_up.free >= slab->enough) {
      given_up.holding = Holding::kBinned;
      if (ACRE_UNLIKELY(slab->is_explicit)) note_bin_of(slab);
      bin = bin_of(slab);  // read now: after the change the run may be gone
    }
  } while (!change_remote(slab, word, given_up));
  if (given_up.holding == Holding::kBinned && bin->offer(slab)) free_pages(slab);
}

void release(Slab* slab) {
  const uint32_t local = slab->capacity - used(slab);
  watch(slab, used(slab), 0);
  slab->free_list = &slab->deferred;
  slab->shelf = Shelf::kNone;
  relaxed_store(slab->owner, kNoThread);
  give_up_inlined(slab, local);
}

void give_up(Slab* slab, uint32_t local) { give_up_inlined(slab, local); }

bool adopt(Slab* slab, ThreadToken me) {
  if (relaxed_load(slab->last_owner) != me) return false;
  RemoteWord word = load_remote(slab);
  while (word.holding == Holding::kFull) {
    RemoteWord owned = word;
    owned.holding = Holding::kOwned;
    owned.free = word.free - word.local;
    owned.local = 0;
    if (change_remote(slab, word, owned)) {
      relaxed_store(slab->owner, me);
      return true;
    }
  }
  return false;
}

// The run may go to another place: its bin, or the page heap.
static void give_back_and_move(Slab* slab, LowAddress head, Link* last, uint32_t count) {
  // Whatever is needed later is read before the change: after it the run may be gone.
  Bin* bin = nullptr;
  const uint32_t capacity = slab->capacity;
  const uint32_t enough = slab->enough;
  const uint32_t head_index = head_of(slab, high_part(slab->base) | head);
  RemoteWord word = load_remote(slab);
  RemoteWord next;
  do {
    last->next = head_block(slab, word);
    next = word;
    next.head = head_index;
    next.free = word.free + count;
    if (word.holding != Holding::kOwned) bin = bin_of(slab);
    if (word.holding == Holding::kFull) {
      if (next.free == capacity) {
        next = RemoteWord{};  // kOwned, by nobody else: ours
      } else if (next.free >= enough) {
        next.holding = Holding::kBinned;
      }
    }
  } while (!change_remote(slab, word, next));

  bool ours = false;
  if (word.holding == Holding::kFull) {
    ours = next.holding == Holding::kOwned || (next.holding == Holding::kBinned && bin->offer(slab));
  } else if (word.holding == Holding::kBinned && next.free == capacity) {
    ours = bin->reclaim(slab);
  }
  if (ours) free_pages(slab);
}

// The common case, in which the run stays where it is and its list grows.
void give_back(Slab* slab, LowAddress head, Link* last, uint32_t count) {
  const uint32_t head_index = head_of(slab, high_part(slab->base) | head);
  uint64_t bits = slab->remote.load(std::memory_order_acquire);
  while (RemoteWord::only_grows(bits, count, slab->enough)) {
    last->next = head_block(slab, static_cast<uint32_t>(bits & RemoteWord::kHeadMask));
    const uint64_t grown = RemoteWord::grown(bits, count, head_index);
    if (slab->remote.compare_exchange_weak(bits, grown, std::memory_order_acq_rel, std::memory_order_acquire)) return;
  }
  if (ACRE_UNLIKELY(slab->is_explicit)) note_bin_of(slab);
  give_back_and_move(slab, head, last, count);
}

}  // namespace slab
}  // namespace acre
