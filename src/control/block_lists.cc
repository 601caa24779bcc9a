#include "control/block_lists.h"

#include "base/bits.h"
#include "cache/sampled_run.h"
#include "cache/verify.h"
#include "control/statistics.h"
#include "pages/page_map.h"
#include "cache/owner_at_work.h"
#include "slab/slab_use.h"

namespace acre::block_lists {

namespace {

// Free page runs of up to 128 pages are listed by length; longer runs are one list.
constexpr unsigned kListedBins = FreeRuns::bin_of(128) + 1;

struct Lister {
  VisitList* visit;
  void* opaque;

  void list(size_t least, size_t most, size_t bytes, const char* type) const {
    if (bytes != 0) visit(opaque, least, most, bytes, type);
  }
  template <class Blocks>
  void classes(const ClassStatistics (&all)[kSmallClasses], const char* type, Blocks blocks) const {
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      list(c == 0 ? 1 : size_of_class(c - 1) + 1, size_of_class(c), blocks(all[c]) * size_of_class(c), type);
    }
  }
  template <class Bytes>
  void runs(const LengthStatistics (&all)[FreeRuns::kBins], const char* type, const char* large, Bytes bytes) const {
    size_t least = 1, in_large = 0;
    for (unsigned bin = 0; bin < kListedBins; ++bin) {
      const size_t most = FreeRuns::most_pages(bin) * kPageBytes;
      list(least, most, bytes(all[bin]), type);
      least = most + 1;
    }
    for (unsigned bin = kListedBins; bin < FreeRuns::kBins; ++bin) in_large += bytes(all[bin]);
    list(least, INT64_MAX, in_large, large);
  }
};

size_t free_bytes(const Slab* slab) {
  const SlabUse use = use_of(slab);
  return use.free() * use.block_bytes;
}

size_t free_bytes(const RunList& runs) {
  size_t bytes = 0;
  for (const Slab* slab = runs.newest(); slab != nullptr; slab = slab->node.next) bytes += free_bytes(slab);
  return bytes;
}

size_t live_bytes(const SampledRun* sampled) {
  return (sampled->capacity - smaller(racy_load(sampled->free), sampled->capacity)) * size_t{sampled->block_bytes};
}

double fraction_in_use(const Run* run, size_t bytes) {
  size_t live = bytes;
  if (racy_load(run->kind) == RunKind::kSlab) {
    const Slab* slab = racy_load(run->slab);
    const SlabUse use = slab == nullptr ? SlabUse() : use_of(slab);
    live = use.live * use.block_bytes;
  } else if (racy_load(run->kind) == RunKind::kSampled) {
    const SampledRun* sampled = racy_load(run->sampled);
    live = sampled == nullptr ? 0 : live_bytes(sampled);
  }
  return static_cast<double>(smaller(live, bytes)) / static_cast<double>(bytes);
}

// Adds large and huge blocks one by one, since only their lengths tell their sizes.
void add_large(BlockSizes& to) {
  g_page_map.for_each_run([&](const Run* run) {
    const RunKind kind = racy_load(run->kind);
    const size_t bytes = racy_load(run->pages) * kPageBytes;
    if (bytes == 0 || (kind != RunKind::kLarge && kind != RunKind::kHuge)) return;
    ++to.blocks;
    to.bytes += bytes;
    ++to.by_size[floor_log2(bytes)];
  });
}

}  // namespace

size_t thread_cache_bytes() {
  Heap* heap = heap_if_any();
  if (heap == nullptr) return 0;
  const OwnerAtWork busy(*heap);
  size_t bytes = free_bytes(heap->adopted);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const RunLists& lists = heap->use(c).lists;
    const uint32_t length = private_list_length(*heap, c);
    if (length != kBroken) bytes += length * size_of_class(c);
    bytes += free_bytes(lists.available);
    if (lists.current != nullptr) bytes += free_bytes(lists.current);
  }
  return bytes;
}

BlockSizes block_sizes() {
  BlockSizes sizes;
  Report* report = make_report();
  if (report == nullptr) return sizes;
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const size_t live = report->all.classes[c].live;
    sizes.blocks += live;
    sizes.bytes += live * size_of_class(c);
    sizes.by_size[floor_log2(size_of_class(c))] += live;
  }
  drop_report(report);
  add_large(sizes);
  return sizes;
}

void free_lists(VisitList* visit, void* opaque) {
  Report* report = make_report();
  if (report == nullptr) return;
  const Lister lister{visit, opaque};
  const auto& classes = report->all.classes;
  const auto& lengths = report->all.lengths;
  using Class = const ClassStatistics&;
  using Length = const LengthStatistics&;
  lister.classes(classes, "tcmalloc.central", [](Class c) { return c.free; });
  lister.classes(classes, "tcmalloc.transfer", [](Class c) { return c.remote_list + c.outbox; });
  lister.classes(classes, "tcmalloc.thread", [](Class c) { return c.private_list + c.deferred + c.uncarved; });
  lister.runs(lengths, "tcmalloc.page", "tcmalloc.large", [](Length l) { return l.dirty + l.muzzy; });
  lister.runs(lengths, "tcmalloc.page_unmapped", "tcmalloc.large_unmapped", [](Length l) { return l.clean; });
  drop_report(report);
}

void ranges(VisitRange* visit, void* opaque) {
  g_page_map.for_each_run([&](const Run* run) {
    const Address start = racy_load(run->base);
    const size_t bytes = racy_load(run->pages) * kPageBytes;
    if (bytes == 0) return;
    switch (racy_load(run->kind)) {
      case RunKind::kSampled: {
        const SampledRun* sampled = racy_load(run->sampled);
        if (!sampled_runs::is_of(sampled, run)) return;
        if (racy_load(sampled->is_guarded) && racy_load(sampled->free) != 0) return;
        [[fallthrough]];
      }
      case RunKind::kSlab:
      case RunKind::kLarge:
      case RunKind::kHuge: return visit(opaque, start, bytes, kInUse, fraction_in_use(run, bytes));
      case RunKind::kFree:
        return visit(opaque, start, bytes, racy_load(run->holds) == Holds::kClean ? kUnmapped : kFree, 0);
      default: return;
    }
  });
}

}  // namespace acre::block_lists
