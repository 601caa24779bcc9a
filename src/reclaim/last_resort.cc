#include "cache/upcalls.h"

#include "pages/limit.h"
#include "os/os.h"
#include "reclaim/pressure.h"

namespace acre {

static constinit std::atomic<uint32_t> g_turn{0};  // 1: a thread has it
static constexpr uint64_t kMostWaitMs = 1000;

// A turn that was not left in time is passed by: in the child of a fork, nobody may be there to leave it.
ACRE_COLD TurnToUnmap::TurnToUnmap() {
  const uint64_t begin = os::now_ms();
  while (g_turn.exchange(1, std::memory_order_acquire) != 0 && os::now_ms() - begin < kMostWaitMs) {
    os::wait_while(g_turn, 1, kMostWaitMs);
  }
}

ACRE_COLD TurnToUnmap::~TurnToUnmap() {
  g_turn.store(0, std::memory_order_release);
  os::wake(g_turn);
}

void reclaim_before_refusal() {
  pressure::before_refusal();
  Heap* heap = heap_if_any();
  if (heap != nullptr) empty_heap(*heap);
  if (hardened::is_on()) hardened::give_back_retired();
  pressure::return_for_hard_limit();
  arenas::for_each([](Arena& arena) {
    if (arena.pages.is_plain()) arena.pages.wait_for_purge();  // else this thread may be purging, in a hook
  });
  if (heap != nullptr) empty_heap(*heap);  // a hook of the program's may have allocated: the caller has an empty list
}

ACRE_COLD bool unmap_before_refusal(size_t n, size_t alignment) {
  if (limit::refuses(n)) return false;
  const size_t pages = pages_for(n) + pages_for(alignment) + kPagesPerHugePage;  // a chunk for the block may take this
  size_t free = 0;
  arenas::for_each([&](const Arena& arena) {
    const PageHeap& own = arena.pages;
    if (own.may_unmap()) free += own.dirty_pages() + own.muzzy_pages() + own.clean_pages();
  });
  if (free < pages) return false;
  size_t unmapped = 0;
  arenas::for_each([&](Arena& arena) {
    if (unmapped >= pages || !arena.pages.may_unmap()) return;
    arena.pages.purge_to(0);
    unmapped += arena.pages.unmap_clean(pages - unmapped);
  });
  return unmapped != 0;
}

}  // namespace acre
