// What lies behind an address that cannot be read or written (find_guarded of cache/upcalls.h). Takes no lock, since the
// handler for SIGSEGV asks: what other threads change meanwhile may be seen as it was.
#include "cache/upcalls.h"
#include "hardened/hardened.h"
#include "hardened/tail.h"
#include "hardened/zero_size.h"
#include "pages/page_map.h"
#include "slab/slab.h"

namespace acre::hardened {

namespace {

guard::Where large_block(const Run* run) {
  return {run->base, run->asked, relaxed_load(run->kind) == RunKind::kGuard};
}

guard::Where small_block(const Run* run, size_t index) {
  const size_t bytes = run->slab->block_bytes;
  const Address block = run->base + index * bytes;
  const Tail tail = read_tail(pointer_to(block), bytes);
  return {block, bytes - kTailBytes - (tail.is_whole ? tail.slack : 0), false};
}

bool begins_slab(Address a) {
  const Run* run = g_page_map.find(pointer_to(a));
  return run != nullptr && acquire_load(run->kind) == RunKind::kSlab && run->base == a;
}

// For an address in a slab run's last page: the run's last block, or the first one of the run behind it.
guard::Where beside(const Run* run, Address a) {
  const guard::Where before = small_block(run, run->slab->capacity - 1u);
  const bool is_nearer_next = run->end() - a < a - (before.block + before.bytes);
  if (!is_nearer_next || !begins_slab(run->end())) return before;
  return small_block(g_page_map.find(pointer_to(run->end())), 0);
}

}  // namespace

ACRE_COLD bool find_guarded(const void* p, guard::Where* where) {
  const Address a = address_of(p);
  if (is_nothing(p)) {
    *where = {a, 0, !is_live_nothing(p)};
    return true;
  }
  const Run* run = g_page_map.find(p);
  if (run == nullptr) run = retired_at(a);
  if (run == nullptr) return false;
  if (acquire_load(run->kind) == RunKind::kGuard) {
    const Run* of = racy_load(run->older);
    if (of == nullptr && !begins_slab(run->end())) return false;  // a guard at an arena's start, and no run behind it yet
    *where = of != nullptr ? large_block(of) : small_block(g_page_map.find(pointer_to(run->end())), 0);
    return true;
  }
  if (run->kind != RunKind::kSlab || !run->guarded || a < run->end() - kPageBytes || a >= run->end()) return false;
  *where = beside(run, a);
  return true;
}

}  // namespace acre::hardened
