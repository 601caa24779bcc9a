// From any pointer to what it points at, off the hot path.
#pragma once

#include "heap/heap.h"
#include "pages/page_map.h"
#include "slab/unit_table.h"

namespace acre {

struct Found {
  Slab* slab = nullptr;  // p is the start of a carved block of this run …
  Run* run = nullptr;    // … or the start of the large or huge block that this run is; both null: neither
};

inline Found find_block(const void* p) {
  Slab* slab = unit_table::at(p);
  if (is_block_start(slab, p)) return {slab, nullptr};
  Run* run = g_page_map.find(p);
  if (run == nullptr) return {};
  switch (run->kind) {
    case RunKind::kSlab:
      if (is_block_start(run->slab, p)) return {run->slab, nullptr};
      return {};
    case RunKind::kLarge:
    case RunKind::kHuge:
      if (run->base == address_of(p)) return {nullptr, run};
      return {};
    default:
      return {};
  }
}

// What a live block is; ends the program if p is the start of none, with a message that names the caller.
Found find_live_block(const void* p, const char* caller);

inline size_t block_bytes(const Found& found) {
  return found.slab != nullptr ? found.slab->block_bytes : found.run->bytes();
}

}  // namespace acre
