// From any address, acre's or foreign, to its run: a sparse tree of two levels with an entry for each page. A run of
// many blocks has an entry for every page; any other run has two, for its first and its last page. The hot path of free
// finds slab runs without the page map (slab/unit_table.h).
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/compiler.h"
#include "base/units.h"
#include "pages/run.h"

namespace acre {

class PageMap {
 public:
  // Returns the run that p's page has an entry for, or null.
  ACRE_ALWAYS_INLINE Run* find(const void* p) const {
    Entry* at = entry(address_of(p));
    return at == nullptr ? nullptr : at->load(std::memory_order_acquire);
  }

  // The same for any page of a run. The time is proportional to the run's length. For error messages.
  Run* find_covering(const void* p) const;

  // Calls visit for each run whose first page has an entry. Other threads may change runs meanwhile, so this is no
  // snapshot. It goes on behind each run, so that no two runs overlap. It reads only entries that prepare() made, one
  // for each page outside of runs.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    Address next = 0;
    visit_leaves([&](const Leaf& leaf, Address start) {
      const Address end = start + kLeafReach;
      for (Address a = larger(next, start); (a = leaf.prepared_from(a, end)) < end; a = next) {
        next = a + kPageBytes;
        Run* run = leaf.entries[(a - start) >> kPageShift].load(std::memory_order_acquire);
        if (run == nullptr || racy_load(run->base) != a) continue;
        const size_t bytes = racy_load(run->pages) << kPageShift;
        if (bytes == 0 || racy_load(run->base) != a) continue;
        next = a + bytes;
        visit(run);
      }
    });
  }

  template <class Visit>
  void for_each_leaf(Visit&& visit) const {
    visit_leaves([&](const Leaf& leaf, Address) { visit(address_of(&leaf), kLeafBytes); });
  }

  // prepare() must have made the entries.
  void set_all(Run* run, Run* value);    // every page
  void set_ends(Run* run, Run* value);   // the first and the last page

  // Makes entries for [start, start + bytes). Returns false if memory is refused.
  bool prepare(Address start, size_t bytes);

  static size_t mapped_bytes();
  static constexpr size_t bytes_for(size_t entries) { return entries * sizeof(Entry); }

 private:
  using Entry = std::atomic<Run*>;
  static constexpr unsigned kAddressBits = 48;  // aarch64 has one more than x86-64
  static constexpr unsigned kLeafShift = 30;  // address bits that a leaf covers
  static constexpr Address kLeafReach = Address{1} << kLeafShift;
  static constexpr size_t kLeafEntries = kLeafReach >> kPageShift;
  static constexpr size_t kWordBits = 64;
  static constexpr size_t kWordsBefore = kLeafReach / kHugePageBytes / kWordBits;

  struct Leaf {
    std::atomic<uint64_t> prepared[kWordsBefore];  // a bit for each huge page; never cleared
    Entry entries[kLeafEntries];

    // The first prepared address from `a` on, or `end`, the end of the leaf's range.
    Address prepared_from(Address a, Address end) const {
      while (a < end) {
        const size_t bit = a % kLeafReach / kHugePageBytes;
        const uint64_t bits = prepared[bit / kWordBits].load(std::memory_order_relaxed) >> bit % kWordBits;
        if ((bits & 1) != 0) return a;
        const size_t ahead = bits == 0 ? kWordBits - bit % kWordBits : static_cast<size_t>(__builtin_ctzll(bits));
        a = align_down(a, kHugePageBytes) + ahead * kHugePageBytes;
      }
      return end;
    }
  };
  static constexpr size_t kLeafBytes = align_up(sizeof(Leaf), kPageBytes);
  static_assert(sizeof(Leaf) == (kWordsBefore + kLeafEntries) * sizeof(Entry));  // leaf_of() relies on it

  Entry* entry(Address a) const {
    if (ACRE_UNLIKELY(a >> kAddressBits != 0)) return nullptr;
    Entry* leaf = leaves_[a >> kLeafShift].load(std::memory_order_acquire);
    return leaf == nullptr ? nullptr : leaf + ((a >> kPageShift) & (kLeafEntries - 1));
  }

  // In the order of addresses. The second argument is the start of the leaf's range.
  template <class Visit>
  void visit_leaves(Visit&& visit) const {
    for (size_t word = 0; word < kGroups / kWordBits; ++word) {
      for (uint64_t bits = groups_[word].load(std::memory_order_acquire); bits != 0; bits &= bits - 1) {
        const size_t first = (word * kWordBits + static_cast<size_t>(__builtin_ctzll(bits))) * kLeavesPerGroup;
        for (size_t i = first; i < first + kLeavesPerGroup; ++i) {
          if (Entry* entries = leaves_[i].load(std::memory_order_acquire)) visit(leaf_of(entries), Address{i} << kLeafShift);
        }
      }
    }
  }

  static Leaf& leaf_of(Entry* entries) { return reinterpret_cast<Leaf*>(entries - kWordsBefore)[0]; }
  Entry* make_leaf(size_t index);
  static void note_prepared(Leaf& leaf, Address start, Address end);

  static constexpr size_t kLeaves = size_t{1} << (kAddressBits - kLeafShift);
  static constexpr size_t kLeavesPerGroup = 64;
  static constexpr size_t kGroups = kLeaves / kLeavesPerGroup;
  std::atomic<Entry*> leaves_[kLeaves] = {};
  // A bit for each group of leaves in which any map has a leaf (tests have more maps). It lies on a page that each
  // process touches anyway (cmake/seldom.ld).
  ACRE_HIDDEN static std::atomic<uint64_t> groups_[kGroups / kWordBits];
};

extern constinit PageMap g_page_map ACRE_HIDDEN;

}  // namespace acre
