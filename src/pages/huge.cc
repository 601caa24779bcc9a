#include "pages/huge.h"

#include <new>

#include "base/fatal.h"
#include "base/mutex.h"
#include "os/os.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "pages/on_growth.h"
#include "pages/page_heap.h"
#include "pages/page_map.h"
#include "pages/source.h"

namespace acre::huge {

namespace {

constinit Mutex g_lock{Rank::kHuge};
constinit Run* g_headers ACRE_GUARDED_BY(g_lock) = nullptr;  // spare headers, through node.next
constinit Counts g_counts ACRE_GUARDED_BY(g_lock);
constinit Run* g_held ACRE_GUARDED_BY(g_lock) = nullptr;  // memory that the kernel refused to take back, through node.next

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

// Counts against the process's limit, then the arena's. Returns false, with nothing counted, if either would be passed.
void uncount(PageHeap* home, size_t blocks, size_t bytes);
bool count(PageHeap* home, size_t blocks, size_t bytes) {
  {
    Lock lock(g_lock);
    if (!limit::take(bytes)) return false;
    g_counts.blocks += blocks;
    g_counts.bytes += bytes;
  }
  if (home == nullptr || home->charge_huge(bytes >> kPageShift)) return true;
  uncount(nullptr, blocks, bytes);
  return false;
}

void uncount(PageHeap* home, size_t blocks, size_t bytes) {
  if (home != nullptr) home->discharge_huge(bytes >> kPageShift);
  Lock lock(g_lock);
  limit::give_back(bytes);
  g_counts.blocks -= blocks;
  g_counts.bytes -= bytes;
}

// At the end of the list, so that each piece has its turn.
void hold(Run* memory) {
  Lock lock(g_lock);
  memory->node.next = nullptr;
  Run** end = &g_held;
  while (*end != nullptr) end = &(*end)->node.next;
  *end = memory;
}

// Unmaps anonymous memory. Where the kernel takes back neither the addresses nor the memory (too many mappings, and the
// memory is locked), the memory is offered again as later blocks are freed.
void give_back(Address start, size_t bytes) {
  if (ACRE_LIKELY(os::unmap(pointer_to(start), bytes))) return;
  Run* memory = take_header();
  if (memory == nullptr) return;  // lost
  memory->base = start;
  memory->pages = bytes >> kPageShift;
  hold(memory);
}

bool is_none_held() ACRE_NO_THREAD_SAFETY_ANALYSIS { return racy_load(g_held) == nullptr; }

// Offers one piece of the memory that give_back() holds.
void offer_held() {
  if (ACRE_LIKELY(is_none_held())) return;
  Run* memory;
  {
    Lock lock(g_lock);
    memory = g_held;
    if (memory == nullptr) return;
    g_held = memory->node.next;
  }
  os::purge(pointer_to(memory->base), memory->bytes()) ? drop_header(memory) : hold(memory);
}

Source* source_of(const PageHeap* home) { return home == nullptr ? Source::automatic() : home->source(); }

// Returns false if the arena has to keep the memory. Its source may have changed since the block was made.
bool unmap(Source* source, Address start, size_t bytes, Backing backing) {
  if (ACRE_UNLIKELY(backing == Backing::kSource && source != nullptr)) return source->release_huge(start, bytes);
  give_back(start, bytes);
  return true;
}

// The caller has counted the block. bytes: a multiple of the source's granularity.
Run* obtain(size_t bytes, size_t alignment, PageHeap* home) {
  Run* run = take_header();
  if (run == nullptr) return nullptr;
  Source* source = source_of(home);
  bool in_source = false;
  window::Chunk memory;
  if (ACRE_LIKELY(source == nullptr)) {
    memory = {map_anonymous(bytes, alignment), bytes};
  } else {
    memory = source->huge(bytes, alignment, &in_source);
  }
  const Backing backing = in_source ? Backing::kSource : Backing::kAnonymous;
  if (memory.start != 0 && !g_page_map.prepare(memory.start, bytes)) {
    unmap(source, memory.start, bytes, backing);
    memory.start = 0;
  }
  if (memory.start == 0) {
    drop_header(run);
    return nullptr;
  }
  run->home = home;
  run->base = memory.start;
  run->pages = bytes >> kPageShift;
  run->kind = RunKind::kHuge;
  run->fresh = memory.zeroed;
  run->backing = backing;
  run->tag = nullptr;
  if (home != nullptr) home->add_huge(run);
  g_page_map.set_ends(run, run);
  return run;
}

// The run's memory holds no block any more, and is not in the page map. The counts are left to the caller.
void forget(Run* run) {
  if (run->home != nullptr) run->home->remove_huge(run);
  run->home = nullptr;
  drop_header(run);
}

// Returns false as unmap() does. The counts are left to the caller.
bool drop(Run* run) {
  Source* source = source_of(run->home);
  const Address start = run->base;
  const size_t bytes = run->bytes();
  const Backing backing = run->backing;
  g_page_map.set_ends(run, nullptr);
  forget(run);
  return unmap(source, start, bytes, backing);
}

// free_after_move() without the counts. First bytes that can't be mapped anew are left alone: they may be another's.
void drop_after_move(Run* run, size_t bytes, os::Move move) {
  if (move == os::Move::kRefused || os::map_at(run->base, bytes) != nullptr) {
    drop(run);
    return;
  }
  g_page_map.set_ends(run, nullptr);
  if (run->bytes() > bytes) give_back(run->base + bytes, run->bytes() - bytes);
  forget(run);
}

}  // namespace

Run* allocate(size_t bytes, size_t alignment, PageHeap* home) {
  const Source* source = source_of(home);
  bytes = align_up(larger<size_t>(bytes, 1), ACRE_LIKELY(source == nullptr) ? os::page_bytes() : source->granularity());
  if (!count(home, 1, bytes)) return nullptr;
  Run* run = obtain(bytes, alignment, home);
  if (run == nullptr) {
    uncount(home, 1, bytes);
  } else {
    on_growth::tell(bytes);
  }
  return run;
}

void free(Run* run) {
  offer_held();
  PageHeap* home = run->home;
  const Address start = run->base;
  const size_t bytes = run->bytes();
  const bool gone = drop(run);
  uncount(home, 1, bytes);
  if (ACRE_UNLIKELY(!gone)) home->add_chunk(start, bytes);
}

void free_after_move(Run* run, size_t bytes, os::Move move) {
  PageHeap* home = run->home;
  const size_t counted = run->bytes();
  drop_after_move(run, bytes, move);
  uncount(home, 1, counted);
}

static void shrink_in_place(Run* run, size_t bytes) {
  const size_t less = run->bytes() - bytes;
  g_page_map.set_ends(run, nullptr);
  run->pages = bytes >> kPageShift;
  g_page_map.set_ends(run, run);
  give_back(run->end(), less);
  uncount(run->home, 0, less);
}

static bool grow_in_place(Run* run, size_t bytes) {
  const size_t old_bytes = run->bytes(), more = bytes - old_bytes;
  if (!count(run->home, 0, more)) return false;
  g_page_map.set_ends(run, nullptr);
  bool done = os::grow_in_place(pointer_to(run->base), old_bytes, bytes);
  if (done && !g_page_map.prepare(run->base, bytes)) {
    os::unmap(pointer_to(run->end()), more);
    done = false;
  }
  if (done) run->pages = bytes >> kPageShift;
  g_page_map.set_ends(run, run);
  done ? on_growth::tell(more) : uncount(run->home, 0, more);
  return done;
}

bool resize_in_place(Run* run, size_t bytes) {
  bytes = align_up(bytes, os::page_bytes());
  if (bytes == run->bytes()) return true;
  if (run->backing == Backing::kSource) return false;
  if (bytes > run->bytes()) return grow_in_place(run, bytes);
  shrink_in_place(run, bytes);
  return true;
}

// Never moves onto memory that may be a file's: in the child of a fork such memory shows the file again.
Run* grow_elsewhere(Run* run, size_t bytes) {
  PageHeap* home = run->home;
  if (run->backing == Backing::kSource || source_of(home) != nullptr) return nullptr;
  bytes = align_up(bytes, os::page_bytes());
  const size_t old_bytes = run->bytes();
  ACRE_ASSERT(bytes > old_bytes);
  if (!count(home, 1, bytes - old_bytes)) return nullptr;  // bytes that move are counted once
  Run* bigger = obtain(bytes, kPageBytes, home);
  if (bigger == nullptr) {
    uncount(home, 1, bytes - old_bytes);
    return nullptr;
  }
  // The old addresses leave the map before the move: afterwards other mappings may be there.
  g_page_map.set_ends(run, nullptr);
  const os::Move move =
      os::move_mapping(pointer_to(run->base), old_bytes, bytes, pointer_to(bigger->base));
  if (move != os::Move::kDone) {
    g_page_map.set_ends(run, run);
    drop_after_move(bigger, bytes, move);
    uncount(home, 1, bytes - old_bytes);
    return nullptr;
  }
  uncount(home, 1, 0);
  forget(run);
  on_growth::tell(bytes - old_bytes);
  return bigger;
}

Counts counts() {
  Lock lock(g_lock);
  return g_counts;
}

size_t bytes_about() ACRE_NO_THREAD_SAFETY_ANALYSIS { return racy_load(g_counts.bytes); }

LockCounts lock_counts() { return g_lock.counts(); }

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::huge
