#include "slab/transitions.h"

#include "slab/guard_pages.h"
#include "slab/labels.h"
#include "slab/on_runs.h"
#include "slab/purge.h"
#include "slab/unit_table.h"

namespace acre::slab {

ACRE_COLD static void tell_of_run(const Slab* slab, size_t block_bytes) {
  const on_runs::Hook hook = relaxed_load(on_runs::g_hook);
  if (hook != nullptr) hook(slab->base, slab->pages, block_bytes);
}

static FreePath free_path_of(const Arena* arena, SizeClass c) {
  if (ACRE_UNLIKELY(arena->is_manual)) return arena->is_labelled ? FreePath::kLabelled : FreePath::kManual;
  return unpurged_path(c);
}

Slab* make(Run* run, SizeClass c, Owner owner) {
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
  slab->spread = static_cast<uint16_t>(spread_of_class(c));
  slab->capacity = ACRE_UNLIKELY(guard_pages::are_on()) ? guard_pages::begin(run, shape) : shape.capacity;
  slab->enough = shape.enough;
  slab->pages = static_cast<uint8_t>(shape.pages);
  slab->size_class = static_cast<uint8_t>(c);
  set_free_path(slab, free_path_of(arena, c));
  slab->deferred = nullptr;
  slab->list = OwnersList::kNone;
  set_carved(slab, 0);
  relaxed_store(slab->base, run->base);
  count_down(slab, 0, 0);
  reset_remote(slab);
  relaxed_store(slab->last_owner, owner.name);
  relaxed_store(slab->owner, owner.token);
  run->home->make_slab(run, slab);
  if (ACRE_UNLIKELY(on_runs::is_on())) tell_of_run(slab, slab->block_bytes);
  return slab;
}

void free_pages(Slab* slab) {
  if (ACRE_UNLIKELY(on_runs::is_on())) tell_of_run(slab, 0);
  relaxed_store(slab->owner, kNoThread);
  bool touched = slab->carved != 0;
  relaxed_store(slab->limit, uint64_t{0});
  relaxed_store(slab->base, Address{0});
  Run* run = slab->run;
  if (ACRE_UNLIKELY(is_labelled(slab))) labels::detach(run, slab->size_class);
  unit_table::drop_header(slab);
  if (ACRE_UNLIKELY(guard_pages::are_on()) && !guard_pages::lift(run)) return;
  run->home->free(run, touched);
}

// In the child of a fork, another thread may have begun this in the parent: then the header is not the run's any more.
void discard(Run* run) {
  Slab* slab = run->slab;
  if (slab->run != run || relaxed_load(slab->base) != run->base) return run->home->free(run, true);
  relaxed_store(slab->binned_in, static_cast<Bin*>(nullptr));
  free_pages(slab);
}

void disown(Slab* slab) { relaxed_store(slab->owner, kNoThread); }

// A run of a manual arena may go into its bin. (A fork locks only those bins of a manual arena that were used.)
ACRE_COLD static void note_bin_of(Slab* slab) { arena_of(slab)->note_bin(slab->size_class); }

// `owner` is cleared before the word changes, since afterwards another thread may own the run.
void release(Slab* slab) {
  const uint32_t local = slab->capacity - used(slab);
  slab->list = OwnersList::kNone;
  relaxed_store(slab->owner, kNoThread);
  RemoteWord word = acquire_remote(slab);
  RemoteWord next;
  Bin* bin = nullptr;
  do {
    next = word;
    next.free = word.free + local;
    next.local = local;
    if (next.free == slab->capacity) return free_pages(slab);  // no block is used: the word cannot change
    next.state = unowned_state(next.free, slab->enough, false);
    if (next.state == RunState::kBinned) {
      if (ACRE_UNLIKELY(is_manual(slab))) note_bin_of(slab);
      bin = bin_of(slab);  // read first: after the change the run may be gone
    }
  } while (!change_remote(slab, word, next));
  if (next.state == RunState::kBinned && bin->offer(slab)) free_pages(slab);
}

void begin_ownership(Slab* slab, const RemoteWord& word, Owner owner) {
  count_down(slab, slab->capacity - word.local, 0);
  relaxed_store(slab->last_owner, owner.name);
  relaxed_store(slab->owner, owner.token);
}

// Makes `me` the owner of a run that is full. Otherwise returns false and sets `word`. A run is full only while no thread
// has it: one that was reclaimed from its owner is not full but shared.
ACRE_ALWAYS_INLINE static bool own_if_full(Slab* slab, Owner me, RemoteWord& word) {
  word = load_remote(slab);
  while (word.state == RunState::kFull) {
    if (change_remote(slab, word, word.owned())) {
      begin_ownership(slab, word, me);
      return ACRE_LIKELY(!has_purged(slab)) || restore_all(slab);
    }
  }
  return false;
}

// `last_owner` may be stale; the word decides.
bool adopt(Slab* slab, Owner me) {
  RemoteWord word;
  return relaxed_load(slab->last_owner) == me.name && own_if_full(slab, me, word);
}

ACRE_APART bool inherit(Slab* slab, Owner me) {
  RemoteWord word;
  if (own_if_full(slab, me, word)) return true;
  const uint32_t most_free = slab->capacity * 3u / 4;
  return word.state == RunState::kBinned && word.free <= most_free && bin_of(slab)->take_this(slab, me);
}

// The general case: the run may go into its bin, or its pages to the page heap.
void give_back_and_move(Slab* slab, Link* head, Link* last, uint32_t count, GiveBack what) {
  if (ACRE_UNLIKELY(is_manual(slab))) note_bin_of(slab);
  // All that is needed later is read before the change: afterwards the run may be gone.
  Bin* bin = nullptr;
  const uint32_t capacity = slab->capacity;
  const uint32_t enough = slab->enough;
  const uint32_t head_index = head_of(slab, head);
  RemoteWord word = load_remote(slab);
  RemoteWord next;
  do {
    last->set_next(head_block(slab, word));
    next = word;
    next.head = head_index;
    next.free = word.free + count;
    if (word.state == RunState::kOwned) continue;
    bin = bin_of(slab);
    const bool shared = is_shared(word.state) && what == GiveBack::kBlocks;
    next.state = unowned_state(next.free, enough, shared);
  } while (!change_remote(slab, word, next));

  bool ours = false;
  if (is_full(word.state)) {
    ours = is_binned(next.state) && bin->offer(slab);
  } else if (is_binned(word.state) && next.free == capacity) {
    ours = bin->reclaim(slab);
  }
  if (ours) free_pages(slab);
}

// The common case: the run stays where it is and its list grows.
void give_back(Slab* slab, Link* head, Link* last, uint32_t count) {
  const uint32_t head_index = head_of(slab, head);
  uint64_t bits = slab->remote.load(std::memory_order_relaxed);
  while (RemoteWord::only_grows(bits, count, slab->enough)) {
    last->set_next(head_block(slab, static_cast<uint32_t>(bits & RemoteWord::kHeadMask)));
    const uint64_t grown = RemoteWord::grown(bits, count, head_index);
    // Release: the blocks' links and what the program wrote pair with change_remote() and take_blocks().
    if (slab->remote.compare_exchange_weak(bits, grown, std::memory_order_release, std::memory_order_relaxed)) return;
  }
  give_back_and_move(slab, head, last, count, GiveBack::kBlocks);
}

}  // namespace acre::slab
