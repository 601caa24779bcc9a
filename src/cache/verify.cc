#include "cache/verify.h"

#include "cache/lookup.h"
#include "cache/owner_at_work.h"
#include "cache/private_list.h"

namespace acre {

namespace {

uint32_t list_length(const Slab* slab, const Link* head) {
  uint32_t length = 0;
  for (const Link* link = head; link != nullptr; ++length, link = link->next()) {
    if (length == slab->capacity || !is_block_start(slab, link) || !is_marked(link)) return kBroken;
  }
  return length;
}

bool run_is_whole(const Slab* slab) {
  const RemoteWord word = load_remote(slab);
  const uint32_t deferred = list_length(slab, slab->deferred);
  if (deferred == kBroken || list_length(slab, head_block(slab, word)) != word.free) return false;
  return slab::used(slab) + deferred == slab->carved;
}

}  // namespace

uint32_t private_list_length(const Heap& heap, SizeClass c) {
  const RunShape& shape = run_shape(c);
  const uint32_t most = uint32_t{shape.capacity} + shape.most_listed;
  uint32_t length = 0;
  for (const Link* link = heap.slots[c].head; link != nullptr; ++length, link = link->next()) {
    const Slab* slab = find_block(link).slab;
    if (length == most || slab == nullptr || slab->size_class != c || !is_marked(link)) return kBroken;
  }
  return length;
}

bool lists_are_whole(Heap& heap) {
  const OwnerAtWork busy(heap);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    private_list::count(heap, c);
    if (private_list_length(heap, c) != private_list::length(heap, c)) return false;
  }
  bool whole = true;
  g_page_map.for_each_run([&](const Run* run) {
    if (racy_load(run->kind) != RunKind::kSlab) return;
    const Slab* slab = racy_load(run->slab);
    if (slab != nullptr && relaxed_load(slab->owner) == heap.token) whole = whole && run_is_whole(slab);
  });
  return whole;
}

}  // namespace acre
