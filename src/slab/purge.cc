#include "slab/purge.h"

#include "os/os.h"
#include "pages/huge_pages.h"
#include "slab/arena.h"
#include "slab/holder.h"

namespace acre {

bool Bin::is_quiet(const Slab* slab, uint64_t now_ms) {
  Run* run = slab->run;
  const uint64_t word = slab->remote.load(std::memory_order_relaxed);
  const int64_t decay_ms = run->home->dirty_decay_hint();
  if (decay_ms < 0) return false;
  if (run->seen_word != word) {
    run->seen_word = word;
    run->seen_ms = now_ms;
    return false;
  }
  return now_ms >= run->seen_ms + static_cast<uint64_t>(decay_ms) / 2;
}

Bin::Quiet Bin::take_quiet(Slab* slab, uint64_t now_ms) {
  Lock lock(lock_);
  if (relaxed_load(slab->binned_in) != this) return Quiet::kNot;
  const Run* run = slab->run;
  if (run->seen_ms == kNever && run->seen_word == slab->remote.load(std::memory_order_relaxed)) return Quiet::kNot;
  if (now_ms != kNever && !is_quiet(slab, now_ms)) return Quiet::kNotYet;
  remove(slab);
  return Quiet::kTaken;
}

namespace slab {

namespace {

// How many carved blocks that are not known to be free touch each page.
struct LivePages {
  uint16_t blocks[kMostRunPages] = {};

  void add(uint64_t pages, int more) {
    for (; pages != 0; pages &= pages - 1) {
      uint16_t& count = blocks[lowest_bit(pages)];
      count = static_cast<uint16_t>(count + more);
    }
  }
  uint64_t bits() const {
    uint64_t live = 0;
    for (size_t page = 0; page < kMostRunPages; ++page) live |= uint64_t{blocks[page] != 0} << page;
    return live;
  }
};

// Bits of the pages before this one.
uint64_t pages_below(size_t page) { return page == kMostRunPages ? ~uint64_t{0} : (uint64_t{1} << page) - 1; }

// The field has another meaning before the first purge.
uint64_t purged_pages(const Slab* slab) { return has_purged(slab) ? slab->run->purged : 0; }

size_t offset_of(const Slab* slab, const Link* block) { return address_of(block) - slab->base; }

void count_blocks(const Slab* slab, LivePages& live) {
  const uint64_t purged = purged_pages(slab);
  size_t offset = 0;
  for (uint32_t i = 0; i < slab->carved; ++i, offset += slab->block_bytes) {
    const uint64_t pages = pages_of_block(offset, slab->block_bytes);
    if ((pages & purged) == 0) live.add(pages, 1);
  }
}

void subtract_list(const Slab* slab, Link* head, LivePages& live) {
  uint32_t count = 0;
  for (Link* link = head; link != nullptr; link = link->next()) {
    checked_link(slab, link);
    if (++count > slab->capacity) overwritten_list();
    live.add(pages_of_block(offset_of(slab, link), slab->block_bytes), -1);
  }
}

// Bits of the pages on which a block lies that is neither uncut nor on one of the lists.
uint64_t live_pages(const Slab* slab, Link* listed, Link* deferred) {
  LivePages blocks;
  count_blocks(slab, blocks);
  subtract_list(slab, listed, blocks);
  subtract_list(slab, deferred, blocks);
  return blocks.bits();
}

// Puts the blocks of a list that stay cut before `to`.
void add_cut(const Slab* slab, Link* head, Restored& to) {
  for (Link *link = head, *next; link != nullptr; link = next) {
    next = link->next();
    if (!is_block_start(slab, link) || is_uncut(slab, link)) continue;
    if (to.last == nullptr) to.last = link;
    link->set_next(to.head);
    to.head = link;
    ++to.count;
  }
}

// Blocks of the remote list become local: from here on only this thread knows them. Returns the word as it was.
RemoteWord detach_list(Slab* slab) {
  RemoteWord word = load_remote(slab);
  RemoteWord next;
  do {
    next = word;
    next.local = word.free;
    next.head = 0;
  } while (!change_remote(slab, word, next));
  return word;
}

void set_purged(Slab* slab, uint64_t pages) {
  relaxed_store(slab->run->purged, pages);
  set_free_path(slab, pages != 0 ? FreePath::kPurged : unpurged_path(slab->size_class));
}

// Returns how many of these pages, of those below `touched`, were given back. If a purge is refused, the blocks are
// uncut all the same.
size_t return_pages(const Slab* slab, uint64_t pages, size_t touched) {
  size_t returned = 0;
  while (pages != 0) {
    const unsigned first = lowest_bit(pages);
    const uint64_t others = ~pages & ~uint64_t{0} << first;
    const unsigned end = others == 0 ? kMostRunPages : lowest_bit(others);
    const Address from = slab->base + first * kPageBytes, to = slab->base + end * kPageBytes;
    huge_pages::forget({from, to});
    if (os::purge(pointer_to(from), to - from)) returned += smaller<size_t>(end, touched) - smaller<size_t>(first, touched);
    pages &= ~pages_below(end);
  }
  return returned;
}

}  // namespace

}  // namespace slab

// While the bin is locked, others can only add blocks to the remote list.
bool Bin::find_live_pages(const Slab* slab, uint64_t* pages) {
  Lock lock(lock_);
  if (relaxed_load(slab->binned_in) != this) return false;
  const RemoteWord word = acquire_remote(slab);
  *pages = slab::live_pages(slab, head_block(slab, word), is_shared(word.state) ? nullptr : slab->deferred);
  return true;
}

namespace slab {

// Before a run's first purge `purged` holds something else. Bits of later purges leave out the pages of a live block.
ACRE_COLD bool touches_purged(const Slab* slab, const void* block) {
  if (acquire_load(slab->free_path) != FreePath::kPurged) return false;
  return (relaxed_load(slab->run->purged) & pages_of_block(address_of(block) - slab->base, slab->block_bytes)) != 0;
}

void list_local(Slab* slab, const Restored& blocks) {
  if (blocks.count == 0) return;
  RemoteWord word = load_remote(slab);
  RemoteWord next;
  do {
    blocks.last->set_next(head_block(slab, word));
    next = word;
    next.head = head_of(slab, blocks.head);
    next.local = word.local - blocks.count;
  } while (!change_remote(slab, word, next));
}

// If no block is live, the bin gives the whole run back.
size_t purge(Slab* slab) {
  const RemoteWord before = detach_list(slab);
  const bool shared = is_shared(before.state);
  Link* const listed = head_block(slab, before);
  Link* const deferred = shared ? nullptr : slab->deferred;  // a shared run's is its former owner's
  const uint64_t live = live_pages(slab, listed, deferred);
  uint64_t returned = 0;
  const size_t touched = pages_for(size_t{slab->carved} * slab->block_bytes);
  if (live != 0) {
    const unsigned last = floor_log2(live);
    const size_t behind = (last + size_t{1}) * kPageBytes;
    returned = pages_below(slab->run->pages) & ~live & ~purged_pages(slab);
    set_purged(slab, pages_below(last) & ~live);
    set_carved(slab, smaller<unsigned>(slab->carved, static_cast<unsigned>(behind / slab->block_bytes)));
  }
  Restored cut{nullptr, nullptr, 0};
  add_cut(slab, listed, cut);
  add_cut(slab, deferred, cut);
  if (!shared) slab->deferred = nullptr;
  const size_t purged = return_pages(slab, returned, touched);
  list_local(slab, cut);
  const uint64_t after = slab->remote.load(std::memory_order_relaxed);
  slab->run->seen_word = after;
  slab->run->seen_ms = RemoteWord::unpack(after).free == before.free ? kNever : 0;  // else blocks were freed meanwhile
  return purged;
}

// Clears the bits of these pages, and cuts the uncut blocks that touch no other purged page, from this index on. The list
// ends in `tail`.
static Restored cut_again(Slab* slab, uint64_t again, size_t index, Link* tail) {
  const uint64_t purged = slab->run->purged & ~again;
  const size_t size = slab->block_bytes;
  set_purged(slab, purged);
  Restored cut{tail, nullptr, 0};
  const size_t stop = smaller((floor_log2(again) + size_t{1}) * kPageBytes, slab->carved * size);
  for (size_t offset = index * size; offset < stop; offset += size) {
    const uint64_t pages = pages_of_block(offset, size);
    if ((pages & again) == 0 || (pages & purged) != 0) continue;
    Link* const link = write_link(pointer_to(slab->base + offset), tail);
    cut.count == 0 ? static_cast<void>(cut.head = link) : cut.last->set_next(link);
    cut.last = link;
    ++cut.count;
  }
  return cut;
}

// The first block that touches the lowest purged page.
static size_t first_uncut(const Slab* slab) { return lowest_bit(slab->run->purged) * kPageBytes / slab->block_bytes; }

ACRE_COLD Restored restore(Slab* slab) {
  const size_t index = first_uncut(slab);
  const uint64_t pages = slab->run->purged & pages_of_block(index * slab->block_bytes, slab->block_bytes);
  return cut_again(slab, pages, index, nullptr);
}

ACRE_COLD bool restore_all(Slab* slab) {
  slab->deferred = cut_again(slab, slab->run->purged, first_uncut(slab), slab->deferred).head;
  return true;
}

}  // namespace slab
}  // namespace acre
