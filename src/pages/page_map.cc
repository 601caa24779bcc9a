#include "pages/page_map.h"

#include "os/os.h"
#include "pages/between_guards.h"

namespace acre {

constinit PageMap g_page_map;

// Not beside the map (cmake/seldom.ld).
__attribute__((section(".bss.page_map_groups"))) constinit std::atomic<uint64_t> PageMap::groups_[kGroups / kWordBits] = {};

static constinit std::atomic<size_t> g_leaf_bytes{0};

size_t PageMap::mapped_bytes() { return g_leaf_bytes.load(std::memory_order_relaxed); }

Run* PageMap::find_covering(const void* p) const {
  for (Address at = align_down(address_of(p), kPageBytes); at != 0; at -= kPageBytes) {
    Entry* e = entry(at);
    if (e == nullptr) return nullptr;
    Run* run = e->load(std::memory_order_acquire);
    if (run != nullptr) return address_of(p) - run->base < run->bytes() ? run : nullptr;
  }
  return nullptr;
}

void PageMap::set_all(Run* run, Run* value) {
  for (Address a = run->base; a < run->end();) {
    Entry* at = entry(a);
    Address leaf_end = align_up(a + 1, size_t{1} << kLeafShift);
    for (; a < run->end() && a < leaf_end; a += kPageBytes) (at++)->store(value, std::memory_order_release);
  }
}

void PageMap::set_ends(Run* run, Run* value) {
  entry(run->base)->store(value, std::memory_order_release);
  if (run->pages > 1) entry(run->end() - kPageBytes)->store(value, std::memory_order_release);
}

// Returns the leaf's entries, or null if memory is refused.
PageMap::Entry* PageMap::make_leaf(size_t index) {
  void* memory = map_between_guards(kLeafBytes);
  if (memory == nullptr) return nullptr;
  Entry* made = static_cast<Leaf*>(memory)->entries;
  Entry* entries = nullptr;
  if (!leaves_[index].compare_exchange_strong(entries, made)) {
    unmap_between_guards(memory, kLeafBytes);  // another thread was faster
    return entries;
  }
  const size_t group = index / kLeavesPerGroup;
  groups_[group / kWordBits].fetch_or(uint64_t{1} << group % kWordBits, std::memory_order_release);
  g_leaf_bytes.fetch_add(kLeafBytes, std::memory_order_relaxed);
  return made;
}

void PageMap::note_prepared(Leaf& leaf, Address start, Address end) {
  const size_t first = start % kLeafReach / kHugePageBytes;
  const size_t last = (end - 1) % kLeafReach / kHugePageBytes;
  for (size_t word = first / kWordBits; word <= last / kWordBits; ++word) {
    uint64_t bits = ~uint64_t{0};
    if (word == first / kWordBits) bits &= ~uint64_t{0} << first % kWordBits;
    if (word == last / kWordBits) bits &= ~uint64_t{0} >> (kWordBits - 1 - last % kWordBits);
    leaf.prepared[word].fetch_or(bits, std::memory_order_relaxed);
  }
}

bool PageMap::prepare(Address start, size_t bytes) {
  const Address end = start + bytes;
  if ((end - 1) >> kAddressBits != 0) return false;
  for (Address i = start >> kLeafShift; i <= (end - 1) >> kLeafShift; ++i) {
    Entry* entries = leaves_[i].load(std::memory_order_acquire);
    if (entries == nullptr) entries = make_leaf(i);
    if (entries == nullptr) return false;
    const Address reach = i << kLeafShift;
    note_prepared(leaf_of(entries), larger(start, reach), smaller(end, reach + kLeafReach));
  }
  return true;
}

}  // namespace acre
