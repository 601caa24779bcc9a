#include "control/census.h"

#include "base/bits.h"
#include "control/statistics.h"
#include "heap/verify.h"
#include "pages/page_map.h"

namespace acre::census {

namespace {

// Free page runs of less than so many pages are listed by their length, the others together.
constexpr size_t kListedPages = 128;

struct FreeLists {
  size_t at_threads[kSmallClasses] = {};  // bytes
  size_t returned[kSmallClasses] = {};
  size_t unowned[kSmallClasses] = {};
  size_t runs[2][kListedPages + 1] = {};  // with memory, without; by pages, all longer ones in the last
};

void add_run(FreeLists& lists, const Run* run) {
  const RunKind kind = racy_load(run->kind);
  if (kind == RunKind::kFree) {
    const size_t pages = racy_load(run->pages);
    const unsigned unmapped = racy_load(run->holds) == Holds::kClean ? 1 : 0;
    lists.runs[unmapped][smaller(pages, kListedPages)] += pages * kPageBytes;
  } else if (has_blocks_of_a_class(run)) {
    const SlabUse use = use_of(run);
    lists.at_threads[use.size_class] += use.at_owner * use.block_bytes;
    lists.returned[use.size_class] += use.returned * use.block_bytes;
    lists.unowned[use.size_class] += use.unowned * use.block_bytes;
  }
}

struct Visitor {
  VisitList* visit;
  void* opaque;

  void list(size_t least, size_t most, size_t bytes, const char* type) const {
    if (bytes != 0) visit(opaque, least, most, bytes, type);
  }
  void classes(const size_t (&bytes)[kSmallClasses], const char* type) const {
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      list(c == 0 ? 1 : size_of_class(c - 1) + 1, size_of_class(c), bytes[c], type);
    }
  }
  void runs(const size_t (&bytes)[kListedPages + 1], const char* type, const char* large) const {
    for (size_t pages = 1; pages < kListedPages; ++pages) {
      list((pages - 1) * kPageBytes + 1, pages * kPageBytes, bytes[pages], type);
    }
    list((kListedPages - 1) * kPageBytes + 1, INT64_MAX, bytes[kListedPages], large);
  }
};

}  // namespace

size_t thread_cache_bytes() {
  const Heap* heap = heap_if_any();
  if (heap == nullptr) return 0;
  size_t bytes = 0;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const uint32_t length = private_list_length(*heap, c);
    if (length != kBroken) bytes += length * size_of_class(c);
  }
  g_page_map.for_each_run([&](const Run* run) {
    if (racy_load(run->kind) != RunKind::kSlab) return;
    const SlabUse use = use_of(run);
    if (use.owner == heap->token) bytes += use.free() * use.block_bytes;
  });
  return bytes;
}

BlockSizes block_sizes() {
  BlockSizes sizes;
  g_page_map.for_each_run([&](const Run* run) {
    size_t blocks = 0, bytes = 0;
    switch (racy_load(run->kind)) {
      case RunKind::kSlab:
      case RunKind::kWatched: {
        const SlabUse use = use_of(run);
        blocks = use.live;
        bytes = use.block_bytes;
        break;
      }
      case RunKind::kLarge:
      case RunKind::kHuge:
        blocks = 1;
        bytes = racy_load(run->pages) * kPageBytes;
        break;
      default: return;
    }
    if (bytes == 0) return;
    sizes.blocks += blocks;
    sizes.bytes += blocks * bytes;
    sizes.by_size[floor_log2(bytes)] += blocks;
  });
  return sizes;
}

void free_lists(VisitList* visit, void* opaque) {
  FreeLists lists;
  g_page_map.for_each_run([&](const Run* run) { add_run(lists, run); });
  const Visitor visitor{visit, opaque};
  visitor.classes(lists.unowned, "tcmalloc.central");
  visitor.classes(lists.returned, "tcmalloc.transfer");
  visitor.classes(lists.at_threads, "tcmalloc.thread");
  visitor.runs(lists.runs[0], "tcmalloc.page", "tcmalloc.large");
  visitor.runs(lists.runs[1], "tcmalloc.page_unmapped", "tcmalloc.large_unmapped");
}

void ranges(VisitRange* visit, void* opaque) {
  g_page_map.for_each_run([&](const Run* run) {
    const Address start = racy_load(run->base);
    const size_t bytes = racy_load(run->pages) * kPageBytes;
    if (bytes == 0) return;
    switch (racy_load(run->kind)) {
      case RunKind::kSlab:
      case RunKind::kWatched: {
        const SlabUse use = use_of(run);
        const double live = static_cast<double>(use.live * use.block_bytes);
        return visit(opaque, start, bytes, Kind::kInUse, live / static_cast<double>(bytes));
      }
      case RunKind::kLarge:
      case RunKind::kHuge: return visit(opaque, start, bytes, Kind::kInUse, 1);
      case RunKind::kFree:
        return visit(opaque, start, bytes, racy_load(run->holds) == Holds::kClean ? Kind::kUnmapped : Kind::kFree, 0);
      default: return;
    }
  });
}

}  // namespace acre::census
