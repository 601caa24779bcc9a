// Address to run, for any pointer, ours or foreign: a sparse tree of two levels with an entry a page.
//
// Entries that name a run: every page of a run that is cut into blocks; the first and last page of other runs. The hot path of
// free finds slab runs without it (slab/unit_table.h).
#pragma once

#include <atomic>

#include "base/atomics.h"
#include "base/compiler.h"
#include "base/units.h"
#include "pages/run.h"

namespace acre {

class PageMap {
 public:
  // The run that p's page belongs to by the rule above; null if there is none.
  Run* find(const void* p) const {
    Entry* at = entry(address_of(p));
    return at == nullptr ? nullptr : at->load(std::memory_order_acquire);
  }

  // The run that covers p, looking for the start of large runs too; takes time in proportion to the run.
  // For error messages.
  Run* find_covering(const void* p) const;

  // Visits every run whose first page has an entry, in no moment's state: others go on changing them. Goes on behind
  // the run, so that no page is in two of those visited. Reads an entry of each page that is in none, in the huge pages
  // for which entries were ever made, and of no others.
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

  // Visits the memory of the map's own.
  template <class Visit>
  void for_each_leaf(Visit&& visit) const {
    visit_leaves([&](const Leaf& leaf, Address) { visit(address_of(&leaf), kLeafBytes); });
  }

  // The addresses must lie in memory prepared by prepare().
  void set_all(Run* run, Run* value);    // every page of the run
  void set_ends(Run* run, Run* value);   // its first and last page

  // Makes entries for [start, start + bytes). False when memory is refused.
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
    std::atomic<uint64_t> prepared[kWordsBefore];  // a bit a huge page; never taken back
    Entry entries[kLeafEntries];

    // The first address from `a` on that was prepared; end: of what the leaf covers, if there is none.
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

  // In the order of addresses. start: of what the leaf covers.
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
  // A bit a group that has leaves, of one map or another (tests have their own). Apart, on a page that each process touches.
  ACRE_HIDDEN static std::atomic<uint64_t> groups_[kGroups / kWordBits];
};

extern constinit PageMap g_page_map ACRE_HIDDEN;

}  // namespace acre
