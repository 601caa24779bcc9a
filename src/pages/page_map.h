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
  // the run, so that no page is in two of those visited, and reads an entry of each page that is in none.
  template <class Visit>
  void for_each_run(Visit&& visit) const {
    Address next = 0;
    for (const std::atomic<Entry*>& slot : leaves_) {
      Entry* leaf = slot.load(std::memory_order_acquire);
      const Address start = static_cast<Address>(&slot - leaves_) << kLeafShift;
      const Address end = start + (Address{1} << kLeafShift);
      if (leaf == nullptr || next >= end) continue;
      for (Address a = next > start ? next : start; a < end; a = next) {
        next = a + kPageBytes;
        Run* run = leaf[(a - start) >> kPageShift].load(std::memory_order_acquire);
        if (run == nullptr || racy_load(run->base) != a) continue;
        const size_t bytes = racy_load(run->pages) << kPageShift;
        if (bytes == 0 || racy_load(run->base) != a) continue;
        next = a + bytes;
        visit(run);
      }
    }
  }

  // Visits the memory of the map's own.
  template <class Visit>
  void for_each_leaf(Visit&& visit) const {
    for (const std::atomic<Entry*>& slot : leaves_) {
      if (Entry* leaf = slot.load(std::memory_order_acquire)) visit(address_of(leaf), bytes_for(kLeafEntries));
    }
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
  static constexpr size_t kLeafEntries = size_t{1} << (kLeafShift - kPageShift);

  Entry* entry(Address a) const {
    if (ACRE_UNLIKELY(a >> kAddressBits != 0)) return nullptr;
    Entry* leaf = leaves_[a >> kLeafShift].load(std::memory_order_acquire);
    return leaf == nullptr ? nullptr : leaf + ((a >> kPageShift) & (kLeafEntries - 1));
  }

  std::atomic<Entry*> leaves_[size_t{1} << (kAddressBits - kLeafShift)] = {};
};

extern constinit PageMap g_page_map ACRE_HIDDEN;

}  // namespace acre
