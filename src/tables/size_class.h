// Small size classes.
//
// Class 0 is 8 bytes. Then come the multiples of 16 up to 128. From there each doubling has 8 classes:
//   128 … 2048 and 8 … 32 KiB: equal steps. A request in (2^k, 2^(k+1)] is rounded up by less than 2^k/8. At most 1/9
//   of the block is wasted, just above a power of two, and less further up.
//   2 … 8 KiB: a fifteenth, a fourteenth … an eighth of one or two units of a run. Equal steps would leave up to a
//   sixteenth of such a run unused, since it has few blocks. These sizes are multiples of 64, so that requests aligned
//   to a cache line find one. The first, for a power of two and a small header, is a multiple of 16.
// Above 128 less than 12.5 % of a block is wasted; up to 128 at most 15 bytes.
// A block's address is a multiple of the largest power of two that divides its size. Larger blocks are large runs,
// rounded up to whole pages.
//
// Each class has a run length, in units of 32 KiB. It is one unit if possible: the hot path of free then finds the
// run's header by its place (slab/unit_table.h), and long runs of few blocks are seldom all free. For a short run it is
// accepted that no block reaches the end of the last unit. The end still belongs to the run: a run of whole units fits
// the length of others when it is free.
#pragma once

#include "base/bits.h"
#include "base/units.h"

namespace acre {

using SizeClass = unsigned;

inline constexpr size_t kQuantum = 16;
inline constexpr size_t kSpacedFrom = 128;              // eight classes for each doubling from here on
inline constexpr unsigned kStepsLog2 = 3;
inline constexpr size_t kSharesFrom = 2048;             // classes are shares of a run from here on …
inline constexpr size_t kSharesTo = 8192;               // … up to here
inline constexpr size_t kShareQuantum = 64;
inline constexpr size_t kSmallMax = size_t{32} << 10;   // largest block cut from a slab run
inline constexpr size_t kOwnedMax = size_t{4} << 10;    // larger classes are shared
inline constexpr size_t kTableMax = 4096;               // largest size whose class the hot path looks up in a table

inline constexpr unsigned kSteps = 1u << kStepsLog2;
inline constexpr SizeClass kFirstSpaced = static_cast<SizeClass>(kSpacedFrom / kQuantum);  // class of 128 bytes
inline constexpr SizeClass kSmallClasses =
    kFirstSpaced + (floor_log2(kSmallMax) - floor_log2(kSpacedFrom)) * kSteps + 1;
inline constexpr size_t kTableEntries = kTableMax + 1;

constexpr size_t derive_size(SizeClass c) {
  if (c == 0) return 8;
  if (c <= kFirstSpaced) return c * kQuantum;
  const unsigned step = (c - kFirstSpaced - 1) % kSteps + 1;
  const size_t doubling = kSpacedFrom << ((c - kFirstSpaced - 1) / kSteps);
  if (doubling < kSharesFrom || doubling >= kSharesTo) return doubling + (doubling >> kStepsLog2) * step;
  return align_down(2 * kSteps * doubling / (2 * kSteps - step), step == 1 ? kQuantum : kShareQuantum);
}

struct ClassSizes {
  uint16_t bytes[kSmallClasses];
  uint8_t of_quanta[kSmallMax / kQuantum + 1];  // class of the sizes that take this many quanta

  constexpr ClassSizes() : bytes(), of_quanta() {
    for (SizeClass c = 0; c < kSmallClasses; ++c) bytes[c] = static_cast<uint16_t>(derive_size(c));
    SizeClass c = 1;
    for (size_t quanta = 0; quanta <= kSmallMax / kQuantum; ++quanta) {
      if (quanta * kQuantum > bytes[c]) ++c;
      of_quanta[quanta] = static_cast<uint8_t>(c);
    }
  }
};
inline constexpr ClassSizes kClassSizes;

constexpr size_t size_of_class(SizeClass c) { return kClassSizes.bytes[c]; }

// n: 0 … kSmallMax.
constexpr SizeClass class_of_size(size_t n) {
  return n <= 8 ? 0 : kClassSizes.of_quanta[(n + kQuantum - 1) / kQuantum];
}

// How many sizes the class serves: its blocks' bytes and fewer.
constexpr size_t spread_of_class(SizeClass c) {
  return c == 0 ? size_of_class(0) + 1 : size_of_class(c) - size_of_class(c - 1);
}

// The other classes are *shared*: no thread owns their runs. Such a run has few blocks, and a run for each class and
// thread would hold more memory than the live blocks. A thread takes one block at a time, under the lock of the bin
// (cache/refill.cc).
inline constexpr SizeClass kOwnedClasses = class_of_size(kOwnedMax) + 1;
constexpr bool is_shared_class(SizeClass c) { return c >= kOwnedClasses; }

struct RunShape {
  uint32_t block_bytes;
  uint16_t pages;
  uint16_t capacity;     // blocks in a run
  uint16_t enough;       // free blocks that put a run without owner into its bin: 1/8
  uint16_t enough_to_stay;  // remote blocks for which a thread stays with its current run: 1/64, or a few
  uint16_t first_batch;  // blocks carved at a time, at least: a page's worth
  uint16_t most_listed;  // blocks that a thread may free onto its private list until the list is full
};

inline constexpr size_t kRunUnitPages = 8;        // runs begin at multiples of this
inline constexpr size_t kUnitPayload = kRunUnitPages * kPageBytes;
inline constexpr size_t kMostUnits = 8;
inline constexpr size_t kLeastBlocks = 4;
inline constexpr size_t kAcceptedPermille = 65;   // of a run's units that may stay unused
inline constexpr size_t kLeastToStay = 4;
inline constexpr size_t kMostListed = 64;         // blocks on a private list …
inline constexpr size_t kMostListedBytes = size_t{32} << 10;
inline constexpr size_t kMostSharedListed = 6;    // … and on one of a shared class
inline constexpr size_t kMostSharedListedBytes = size_t{96} << 10;

// Thousandths of so many units that blocks of this size leave unused.
constexpr size_t rest_permille(size_t size, size_t units) {
  return units * kUnitPayload % size * 1000 / (units * kUnitPayload);
}

constexpr size_t units_for(size_t size) {
  size_t best = 0;
  for (size_t units = 1; units <= kMostUnits; ++units) {
    if (units * kUnitPayload / size < kLeastBlocks) continue;
    if (rest_permille(size, units) <= kAcceptedPermille) return units;
    if (best == 0 || rest_permille(size, units) < rest_permille(size, best)) best = units;
  }
  return best;
}

constexpr RunShape make_run_shape(SizeClass c) {
  size_t size = size_of_class(c);
  size_t units = units_for(size);
  size_t capacity = units * kUnitPayload / size;
  size_t enough = larger<size_t>(1, capacity / 8);
  size_t most_listed = is_shared_class(c) ? smaller(kMostSharedListed, kMostSharedListedBytes / size)
                                          : smaller(kMostListed, kMostListedBytes / size);
  return {static_cast<uint32_t>(size),
          static_cast<uint16_t>(units * kRunUnitPages),
          static_cast<uint16_t>(capacity),
          static_cast<uint16_t>(enough),
          static_cast<uint16_t>(smaller(enough, larger(kLeastToStay, capacity / 64))),
          static_cast<uint16_t>(larger<size_t>(1, kPageBytes / size)),
          static_cast<uint16_t>(most_listed)};
}

struct RunShapes {
  RunShape shape[kSmallClasses];
  constexpr RunShapes() : shape() {
    for (SizeClass c = 0; c < kSmallClasses; ++c) shape[c] = make_run_shape(c);
  }
};
inline constexpr RunShapes kRunShapes;
constexpr const RunShape& run_shape(SizeClass c) { return kRunShapes.shape[c]; }

// The claims above, checked by the compiler.
constexpr bool size_classes_hold() {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    size_t size = size_of_class(c);
    size_t below = c == 0 ? 0 : size_of_class(c - 1);
    if (size <= below || class_of_size(size) != c || class_of_size(below + 1) != c) return false;
    if (size > 16 && size % kQuantum != 0) return false;
    if (size > kSpacedFrom && (size - below - 1) * 8 > size) return false;
    if (size > kSharesFrom && size <= kSharesTo && rest_permille(size, run_shape(c).pages / kRunUnitPages) > 15) {
      return false;
    }
    const RunShape& shape = run_shape(c);
    if (shape.pages % kRunUnitPages != 0) return false;
    if (shape.capacity < kLeastBlocks || shape.pages > kMostUnits * kRunUnitPages) return false;
    if (rest_permille(size, shape.pages / kRunUnitPages) > 95) return false;
    if (is_shared_class(c) && shape.enough != 1) return false;  // a full run has no free block at all
  }
  return size_of_class(kSmallClasses - 1) == kSmallMax;
}
static_assert(size_classes_hold());

// The class for blocks of n bytes at a multiple of alignment (a power of two); kSmallClasses if there is none.
constexpr SizeClass class_for_aligned(size_t n, size_t alignment) {
  if (n > kSmallMax || alignment > kSmallMax) return kSmallClasses;
  SizeClass c = class_of_size(larger(n, alignment));
  while (c < kSmallClasses && !is_aligned(size_of_class(c), alignment)) ++c;
  return c;
}

}  // namespace acre
