#include "record/figures.h"

#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "slab/arena.h"

namespace acre::record::figures {

namespace {

constinit std::atomic<uint32_t> g_tick{UINT32_MAX};  // when they were written last
constinit std::atomic<uint64_t> g_purged{0};         // pages, in all that was written
constinit std::atomic<uint64_t> g_lost{0};

}  // namespace

bool are_due(uint32_t tick) {
  uint32_t last = g_tick.load(std::memory_order_relaxed);
  return last != tick && g_tick.compare_exchange_strong(last, tick, std::memory_order_relaxed);
}

void write(Encoder& encoder) {
  size_t used = 0, dirty = 0, muzzy = 0;
  uint64_t purged = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) {
    const PageHeap& pages = arenas::at(i)->pages;
    used += pages.used_pages();
    dirty += pages.dirty_pages();
    muzzy += pages.muzzy_pages();
    purged += pages.purged_pages();
  }
  const size_t huge = huge::bytes_about();
  uint64_t values[static_cast<size_t>(Figure::kCount)] = {};
  const auto set = [&values](Figure figure, uint64_t value) { values[static_cast<size_t>(figure)] = value; };
  set(Figure::kActive, used * kPageBytes + huge);
  set(Figure::kDirty, dirty * kPageBytes);
  set(Figure::kMuzzy, muzzy * kPageBytes);
  set(Figure::kMapped, window::mapped_bytes() + huge);
  uint64_t& metadata_bytes = values[static_cast<size_t>(Figure::kMetadata)];
  const auto add = [](Address, size_t bytes, void* to) { *static_cast<uint64_t*>(to) += bytes; };
  metadata::for_each_region(add, &metadata_bytes);
  const uint64_t before = g_purged.exchange(purged, std::memory_order_relaxed);
  if (purged > before) encoder.purged(purged - before);
  encoder.figures(values);
  if (const uint64_t lost = g_lost.exchange(0, std::memory_order_relaxed)) encoder.lost(lost);
}

void count_lost() { g_lost.fetch_add(1, std::memory_order_relaxed); }

}  // namespace acre::record::figures
