#include "pages/huge.h"

#include <new>

#include "base/mutex.h"
#include "os/os.h"
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

void count(size_t blocks, size_t bytes) {  // differences, modulo 2^64
  Lock lock(g_lock);
  g_counts.blocks += blocks;
  g_counts.bytes += bytes;
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

}  // namespace

Run* allocate(size_t bytes, size_t alignment) {
  bytes = align_up(bytes, os::page_bytes());
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
  count(1, bytes);
  return run;
}

void free(Run* run) {
  g_page_map.set_ends(run, nullptr);
  os::unmap(pointer_to(run->base), run->bytes());
  count(~size_t{0}, ~run->bytes() + 1);
  drop_header(run);
}

void free_after_move(Run* run, size_t bytes, os::Move move) {
  if (move == os::Move::kRefused || os::map_at(run->base, bytes) != nullptr) return free(run);
  g_page_map.set_ends(run, nullptr);
  if (run->bytes() > bytes) os::unmap(pointer_to(run->base + bytes), run->bytes() - bytes);
  count(~size_t{0}, ~run->bytes() + 1);
  drop_header(run);
}

bool resize_in_place(Run* run, size_t bytes) {
  bytes = align_up(bytes, os::page_bytes());
  size_t old_bytes = run->bytes();
  void* start = pointer_to(run->base);
  if (bytes == old_bytes) return true;
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
  g_page_map.set_ends(run, run);
  return done;
}

Run* grow_elsewhere(Run* run, size_t bytes) {
  Run* bigger = allocate(bytes, kPageBytes);
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
  count(~size_t{0}, ~run->bytes() + 1);
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
