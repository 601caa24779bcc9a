// Finds the block that a pointer points at. Not for the hot path.
#pragma once

#include "cache/heap.h"
#include "cache/sampled_run.h"
#include "pages/page_map.h"
#include "slab/unit_table.h"

namespace acre {

struct Found {
  Slab* slab = nullptr;  // p is the start of a carved block of this run
  Run* run = nullptr;    // p is the start of this large or huge block, or of a block, live or free, in this run of
                         // sampled blocks; both null: neither
};

ACRE_ALWAYS_INLINE Found find_block(const void* p) {
  Slab* slab = unit_table::header_at(p);
  if (is_block_start(slab, p)) return {slab, nullptr};
  Run* run = g_page_map.find(p);
  if (run == nullptr) return {};
  switch (run->kind) {
    case RunKind::kSlab:
      if (is_block_start(run->slab, p)) return {run->slab, nullptr};
      return {};
    case RunKind::kSampled:
      if (sampled_runs::is_block_start(run->sampled, p)) return {nullptr, run};
      return {};
    case RunKind::kLarge:
    case RunKind::kHuge:
      if (run->base == address_of(p)) return {nullptr, run};
      return {};
    default:
      return {};
  }
}

// Whether a block of a run has the mark, and a link to nothing or to a block of its class. A few live blocks have the
// mark by chance (slab/free_list.h), and hardly any has such a link.
inline bool seems_free(const Slab* slab, const void* block) {
  const auto* link = static_cast<const Link*>(block);
  if (!seems_marked(link)) return false;
  const Link* next = racy_next(link);
  if (next == nullptr) return true;
  const Slab* of_next = find_block(next).slab;
  return of_next != nullptr && racy_load(of_next->size_class) == racy_load(slab->size_class);
}

inline bool is_sampled(const Found& found) { return found.slab == nullptr && found.run->kind == RunKind::kSampled; }
// Finds the live block that starts at p. If there is none, ends the program with a message that names the caller.
Found find_live_block(const void* p, const char* caller);

// Null: no block, or a huge one of no arena.
inline Arena* arena_of(const Found& found) {
  if (found.slab != nullptr) return arena_of(found.slab);
  return found.run != nullptr ? arena_of(found.run) : nullptr;
}
inline bool is_manual(const Found& found) {
  const Arena* arena = arena_of(found);
  return arena != nullptr && arena->is_manual;
}

inline size_t block_bytes(const Found& found) {
  if (found.slab != nullptr) return found.slab->block_bytes;
  return is_sampled(found) ? found.run->sampled->block_bytes : found.run->bytes();
}

}  // namespace acre
