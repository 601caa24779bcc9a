#include "pages/huge.h"

#include <new>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "pages/page_heap.h"
#include "pages/page_map.h"
#include "pages/source.h"

namespace acre::huge {

namespace {

constinit Mutex g_lock{Rank::kHuge};
constinit Run* g_headers ACRE_GUARDED_BY(g_lock) = nullptr;  // spare, through node.next
constinit Counts g_counts ACRE_GUARDED_BY(g_lock);

Run* take_header() {
  {
    Lock lock(g_lock);
    if (Run* run = g_headers) {
      g_headers = run->node.next;
      return run;
    }
  }
  void* memory = metadata::allocate(sizeof(Run));
  return memory == nullptr ? nullptr : new (memory) Run;
}

void drop_header(Run* run) {
  run->kind = RunKind::kNone;
  Lock lock(g_lock);
  run->node.next = g_headers;
  g_headers = run;
}

bool charge(PageHeap* home, size_t pages) { return home == nullptr || home->charge_huge(pages); }
void discharge(PageHeap* home, size_t pages) {
  if (home != nullptr) home->discharge_huge(pages);
}

// Whatever the limit is.
void recharge(PageHeap* home, size_t pages) { discharge(home, ~pages + 1); }

void count(size_t blocks, size_t bytes) {  // differences, modulo 2^64
  Lock lock(g_lock);
  g_counts.blocks += blocks;
  g_counts.bytes += bytes;
}

Source* source_of(const PageHeap* home) { return home == nullptr ? Source::automatic() : home->source(); }

// A mapping that no block is in.
void unmap(Source* source, const window::Chunk& memory, bool in_source) {
  if (in_source) {
    source->release_huge(memory.start, memory.bytes);
  } else {
    os::unmap(pointer_to(memory.start), memory.bytes);
  }
}

// The block is gone: its mapping is another's, or no more.
void forget(Run* run) {
  count(~size_t{0}, ~run->bytes() + 1);
  if (run->home != nullptr) {
    run->home->remove_huge(run);
    run->home->discharge_huge(run->pages);
    run->home = nullptr;
  }
  drop_header(run);
}

}  // namespace

Run* allocate(size_t bytes, size_t alignment, PageHeap* home) {
  bytes = align_up(bytes, os::page_bytes());
  Run* run = take_header();
  if (run == nullptr) return nullptr;
  if (!charge(home, bytes >> kPageShift)) {
    drop_header(run);
    return nullptr;
  }
  Source* source = source_of(home);
  bool in_source = false;
  window::Chunk memory;
  if (ACRE_LIKELY(source == nullptr)) {
    memory = {map_anonymous(bytes, alignment), bytes};
  } else {
    memory = source->huge(bytes, alignment, &in_source);
  }
  if (memory.start != 0 && !g_page_map.prepare(memory.start, memory.bytes)) {
    unmap(source, memory, in_source);
    memory.start = 0;
  }
  if (memory.start == 0) {
    discharge(home, bytes >> kPageShift);
    drop_header(run);
    return nullptr;
  }
  recharge(home, (memory.bytes - bytes) >> kPageShift);
  run->home = home;
  run->base = memory.start;
  run->pages = memory.bytes >> kPageShift;
  run->kind = RunKind::kHuge;
  run->fresh = memory.zeroed;
  run->backing = in_source ? Backing::kSource : Backing::kAnonymous;
  if (home != nullptr) home->add_huge(run);
  g_page_map.set_ends(run, run);
  count(1, memory.bytes);
  return run;
}

// What the source does not take stays with the arena.
ACRE_COLD static void free_into_source(Run* run) {
  PageHeap* home = run->home;
  const Address start = run->base;
  const size_t bytes = run->bytes();
  forget(run);
  if (!source_of(home)->release_huge(start, bytes)) home->add_chunk(start, bytes);
}

void free(Run* run) {
  g_page_map.set_ends(run, nullptr);
  if (ACRE_UNLIKELY(run->backing == Backing::kSource)) return free_into_source(run);
  os::unmap(pointer_to(run->base), run->bytes());
  forget(run);
}

void free_after_move(Run* run, size_t bytes, os::Move move) {
  if (move == os::Move::kRefused || os::map_at(run->base, bytes) != nullptr) return free(run);
  g_page_map.set_ends(run, nullptr);
  if (run->bytes() > bytes) os::unmap(pointer_to(run->base + bytes), run->bytes() - bytes);
  forget(run);
}

bool resize_in_place(Run* run, size_t bytes) {
  bytes = align_up(bytes, os::page_bytes());
  size_t old_bytes = run->bytes();
  void* start = pointer_to(run->base);
  if (bytes == old_bytes) return true;
  if (run->backing == Backing::kSource) return false;
  const size_t more = bytes > old_bytes ? (bytes - old_bytes) >> kPageShift : 0;
  if (more != 0 && !charge(run->home, more)) return false;
  g_page_map.set_ends(run, nullptr);
  bool done = os::resize_in_place(start, old_bytes, bytes);
  if (done && !g_page_map.prepare(run->base, bytes)) {
    os::resize_in_place(start, bytes, old_bytes);
    done = false;
  }
  if (done) {
    run->pages = bytes >> kPageShift;
    count(0, bytes - old_bytes);
  }
  if (done && bytes < old_bytes) discharge(run->home, (old_bytes - bytes) >> kPageShift);
  if (!done) discharge(run->home, more);
  g_page_map.set_ends(run, run);
  return done;
}

Run* grow_elsewhere(Run* run, size_t bytes) {
  if (run->backing == Backing::kSource) return nullptr;
  discharge(run->home, run->pages);  // only what it grows by counts
  Run* bigger = allocate(bytes, kPageBytes, run->home);
  recharge(run->home, run->pages);
  if (bigger == nullptr) return nullptr;
  // Out of the map first: once the mapping has moved, its old addresses may be anyone's.
  g_page_map.set_ends(run, nullptr);
  const os::Move move =
      os::move_mapping(pointer_to(run->base), run->bytes(), bigger->bytes(), pointer_to(bigger->base));
  if (move != os::Move::kDone) {
    g_page_map.set_ends(run, run);
    free_after_move(bigger, bigger->bytes(), move);
    return nullptr;
  }
  forget(run);
  return bigger;
}

Counts counts() {
  Lock lock(g_lock);
  return g_counts;
}

void before_fork() { g_lock.before_fork(); }
void after_fork_in_parent() { g_lock.after_fork_in_parent(); }
void after_fork_in_child() { g_lock.after_fork_in_child(); }

}  // namespace acre::huge
