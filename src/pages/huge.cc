#include "pages/huge.h"

#include <new>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "pages/page_map.h"

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

// False: the hard limit would be passed, and nothing is counted.
bool count(size_t blocks, size_t bytes) {
  Lock lock(g_lock);
  if (!limit::take(bytes)) return false;
  g_counts.blocks += blocks;
  g_counts.bytes += bytes;
  return true;
}

void uncount(size_t blocks, size_t bytes) {
  Lock lock(g_lock);
  limit::give_back(bytes);
  g_counts.blocks -= blocks;
  g_counts.bytes -= bytes;
}

// Maps with room for the alignment and trims.
Address map_aligned(size_t bytes, size_t alignment) {
  if (alignment <= os::page_bytes()) return address_of(os::map(bytes));
  size_t room = bytes + alignment - kPageBytes;
  if (room < bytes) return 0;
  Address start = address_of(os::map(room));
  if (start == 0) return 0;
  Address base = align_up(start, alignment);
  if (base > start) os::unmap(pointer_to(start), base - start);
  if (base + bytes < start + room) os::unmap(pointer_to(base + bytes), start + room - base - bytes);
  return base;
}

// Counted already. Rounded up to whole pages.
Run* obtain(size_t bytes, size_t alignment) {
  Run* run = take_header();
  if (run == nullptr) return nullptr;
  Address base = map_aligned(bytes, alignment);
  if (base != 0 && !g_page_map.prepare(base, bytes)) {
    os::unmap(pointer_to(base), bytes);
    base = 0;
  }
  if (base == 0) {
    drop_header(run);
    return nullptr;
  }
  run->base = base;
  run->pages = bytes >> kPageShift;
  run->kind = RunKind::kHuge;
  run->fresh = true;
  g_page_map.set_ends(run, run);
  return run;
}

// Goes on being counted.
void drop(Run* run) {
  g_page_map.set_ends(run, nullptr);
  os::unmap(pointer_to(run->base), run->bytes());
  drop_header(run);
}

// As free_after_move.
void drop_after_move(Run* run, size_t bytes, os::Move move) {
  if (move == os::Move::kRefused || os::map_at(run->base, bytes) != nullptr) return drop(run);
  g_page_map.set_ends(run, nullptr);
  if (run->bytes() > bytes) os::unmap(pointer_to(run->base + bytes), run->bytes() - bytes);
  drop_header(run);
}

}  // namespace

Run* allocate(size_t bytes, size_t alignment) {
  bytes = align_up(bytes, os::page_bytes());
  if (!count(1, bytes)) return nullptr;
  Run* run = obtain(bytes, alignment);
  if (run == nullptr) uncount(1, bytes);
  return run;
}

void free(Run* run) {
  const size_t bytes = run->bytes();
  drop(run);
  uncount(1, bytes);
}

void free_after_move(Run* run, size_t bytes, os::Move move) {
  const size_t counted = run->bytes();
  drop_after_move(run, bytes, move);
  uncount(1, counted);
}

bool resize_in_place(Run* run, size_t bytes) {
  bytes = align_up(bytes, os::page_bytes());
  size_t old_bytes = run->bytes();
  void* start = pointer_to(run->base);
  if (bytes == old_bytes) return true;
  if (bytes > old_bytes && !count(0, bytes - old_bytes)) return false;
  g_page_map.set_ends(run, nullptr);
  bool done = os::resize_in_place(start, old_bytes, bytes);
  if (done && !g_page_map.prepare(run->base, bytes)) {
    os::resize_in_place(start, bytes, old_bytes);
    done = false;
  }
  if (done) run->pages = bytes >> kPageShift;
  if (!done && bytes > old_bytes) uncount(0, bytes - old_bytes);
  if (done && bytes < old_bytes) uncount(0, old_bytes - bytes);
  g_page_map.set_ends(run, run);
  return done;
}

Run* grow_elsewhere(Run* run, size_t bytes) {
  bytes = align_up(bytes, os::page_bytes());
  const size_t old_bytes = run->bytes();
  if (!count(1, bytes - old_bytes)) return nullptr;  // what moves is counted once
  Run* bigger = obtain(bytes, kPageBytes);
  if (bigger == nullptr) {
    uncount(1, bytes - old_bytes);
    return nullptr;
  }
  // Out of the map first: once the mapping has moved, its old addresses may be anyone's.
  g_page_map.set_ends(run, nullptr);
  const os::Move move =
      os::move_mapping(pointer_to(run->base), old_bytes, bytes, pointer_to(bigger->base));
  if (move != os::Move::kDone) {
    g_page_map.set_ends(run, run);
    drop_after_move(bigger, bytes, move);
    uncount(1, bytes - old_bytes);
    return nullptr;
  }
  uncount(1, 0);
  drop_header(run);
  return bigger;
}

Counts counts() {
  Lock lock(g_lock);
  return g_counts;
}

LockCounts lock_counts() { return g_lock.counts(); }

void before_fork() { g_lock.before_fork(); }
void after_fork_in_parent() { g_lock.after_fork_in_parent(); }
void after_fork_in_child() { g_lock.after_fork_in_child(); }

}  // namespace acre::huge
