// A set of free runs of one kind, for best fit at the lowest address; and a list of runs by age. The set has size bins:
// one for each length up to 32 pages, then eight for each doubling. Each bin is a heap by address. A bitmap names the
// bins that hold runs.
#pragma once

#include "base/bits.h"
#include "base/pairing_heap.h"
#include "pages/run.h"

namespace acre {

class alignas(kCacheLine) FreeRuns {
 public:
  void insert(Run* run) {
    unsigned bin = bin_of(run->pages);
    heaps_[bin].insert(run);
    occupied_[bin / 64] |= uint64_t{1} << (bin % 64);
    count(pages_ + run->pages);
  }

  void remove(Run* run) {
    unsigned bin = bin_of(run->pages);
    heaps_[bin].remove(run);
    if (heaps_[bin].empty()) occupied_[bin / 64] &= ~(uint64_t{1} << (bin % 64));
    count(pages_ - run->pages);
  }

  // Returns one of the shortest runs that hold `pages` pages from a multiple of align_pages on, or null; the lowest of
  // its bin if align_pages is 1. The run stays in the set. pages + align_pages is at most kMostPages.
  Run* find(size_t pages, size_t align_pages) const {
    auto fits = [=](const Run* run) { return lead(run, align_pages) + pages <= run->pages; };
    // In these bins a run may be too short, or have no aligned address at the right place …
    unsigned sure = bin_of(pages + align_pages - 1) + 1;
    for (unsigned bin = next_occupied(bin_of(pages)); bin < sure; bin = next_occupied(bin + 1)) {
      if (Run* run = heaps_[bin].find_near_root(align_pages == 1 ? 1 : kMostTried, fits)) return run;
    }
    // … and in the bins from `sure` on every run fits.
    unsigned bin = next_occupied(sure);
    return bin < kBins ? heaps_[bin].min() : nullptr;
  }

  // Looks at a few runs of each bin, from the longest runs down to runs of about `least` pages. Returns the first for
  // which `fits` is true, or null. The run stays in the set.
  template <class Fits>
  Run* find_among_longest(size_t least, Fits&& fits) const {
    const unsigned last = bin_of(least);
    for (unsigned bin = kBins; bin-- > last;) {
      if (Run* run = heaps_[bin].find_near_root(kMostTried, fits)) return run;
    }
    return nullptr;
  }

  static size_t lead(const Run* run, size_t align_pages) {
    return (align_up(run->base, align_pages << kPageShift) - run->base) >> kPageShift;
  }

  // Readable without the lock that guards the set; the figure may be a moment old.
  size_t pages() const { return __atomic_load_n(&pages_, __ATOMIC_RELAXED); }

  static constexpr unsigned kBins = 192;
  static constexpr size_t kMostPages = size_t{1} << 25;  // of a run, and of pages + align_pages in find()

  static constexpr unsigned bin_of(size_t pages) {
    if (pages <= kExactBins) return static_cast<unsigned>(pages - 1);
    unsigned log2 = floor_log2(pages - 1);
    unsigned step = static_cast<unsigned>((pages - 1) >> (log2 - 3)) - 8;
    return kExactBins + (log2 - 5) * 8 + step;
  }
  // The length of the longest runs in the bin.
  static constexpr size_t most_pages(unsigned bin) {
    if (bin < kExactBins) return bin + 1;
    const unsigned doubling = (bin - kExactBins) / 8, step = (bin - kExactBins) % 8;
    return (size_t{9} + step) << (doubling + 2);
  }

 private:
  static constexpr unsigned kExactBins = 32;
  static constexpr unsigned kMostTried = 8;

  void count(size_t pages) { __atomic_store_n(&pages_, pages, __ATOMIC_RELAXED); }

  // The first bin from this one on that has runs, or kBins.
  unsigned next_occupied(unsigned bin) const {
    for (unsigned word = bin / 64; word < kBins / 64; ++word) {
      uint64_t bits = occupied_[word];
      if (word == bin / 64) bits &= ~uint64_t{0} << (bin % 64);
      if (bits != 0) return word * 64 + lowest_bit(bits);
    }
    return kBins;
  }

  uint64_t occupied_[kBins / 64] = {};
  size_t pages_ = 0;
  PairingHeap<Run, LowerAddress> heaps_[kBins];
};

// Runs in the order in which they were added.
class RunAges {
 public:
  Run* oldest() const { return oldest_; }

  void add(Run* run) {
    run->older = youngest_;
    run->younger = nullptr;
    (youngest_ == nullptr ? oldest_ : youngest_->younger) = run;
    youngest_ = run;
  }

  void remove(Run* run) {
    (run->older == nullptr ? oldest_ : run->older->younger) = run->younger;
    (run->younger == nullptr ? youngest_ : run->younger->older) = run->older;
  }

 private:
  Run* oldest_ = nullptr;
  Run* youngest_ = nullptr;
};

}  // namespace acre
