// One bound on what all threads together keep beyond their current runs. Each heap takes parts of the bound as it needs
// them (docs/decisions/0006-one-bound-for-all-threads.md).
#include "cache/allowance.h"

#include <atomic>

#include "slab/arena.h"
#include "tables/options.h"

namespace acre {

namespace {

constexpr size_t kAllowanceStep = (size_t{256} << 10) / kPageBytes;

constinit std::atomic<size_t> g_handed_out{0};  // pages of allowance that heaps have

// The automatic bound follows the memory in use. It takes a walk over the arenas, once in kRefusalsPerLook refusals.
constexpr size_t kLeastBound = (size_t{64} << 20) / kPageBytes;
constexpr uint32_t kRefusalsPerLook = 64;
constinit std::atomic<size_t> g_automatic_bound{kLeastBound};
constinit std::atomic<uint32_t> g_refusals{0};

size_t shared_bound() {
  const int64_t chosen = relaxed_load(options().thread_cache_max);
  return chosen >= 0 ? static_cast<size_t>(chosen) / kPageBytes : g_automatic_bound.load(std::memory_order_relaxed);
}

// A heap may keep as much as is in use if all others together keep next to nothing, as those of waiting threads do:
// they have little use for its runs.
constexpr size_t kNextToNothing = 4 * kAllowanceStep;
void adapt_bound(const Heap& heap) {
  const size_t of_others = g_handed_out.load(std::memory_order_relaxed) - heap.allowed_pages;
  const size_t part = of_others <= kNextToNothing ? 1 : 4;
  g_automatic_bound.store(larger(kLeastBound, arenas::used_pages() / part), std::memory_order_relaxed);
}

void on_refusal(const Heap& heap) {
  if (g_refusals.fetch_add(1, std::memory_order_relaxed) % kRefusalsPerLook == 0) adapt_bound(heap);
}

}  // namespace

bool extend_allowance(Heap& heap) {
  size_t handed_out = g_handed_out.load(std::memory_order_relaxed);
  do {
    if (handed_out + kAllowanceStep > shared_bound()) {
      on_refusal(heap);
      return false;
    }
  } while (!g_handed_out.compare_exchange_weak(handed_out, handed_out + kAllowanceStep));
  heap.allowed_pages += kAllowanceStep;
  return true;
}

void trim_allowance(Heap& heap) {
  while (heap.allowed_pages >= heap.kept_pages + 2 * kAllowanceStep) {
    heap.allowed_pages -= kAllowanceStep;
    g_handed_out.fetch_sub(kAllowanceStep);
  }
}

void give_up_allowance(Heap& heap) {
  g_handed_out.fetch_sub(heap.allowed_pages);
  heap.allowed_pages = 0;
}

size_t shared_allowance() { return shared_bound() * kPageBytes; }

size_t shared_allowance_left() {
  size_t handed_out = g_handed_out.load(std::memory_order_relaxed);
  return (shared_bound() - smaller(handed_out, shared_bound())) * kPageBytes;
}

void reset_shared_allowance(size_t pages) { g_handed_out.store(pages); }

}  // namespace acre
