// The header of a run: contiguous pages with one purpose. Headers lie out of line, are never unmapped, and
// stay with the arena they were made for, so that a stale pointer to one can always be read.
#pragma once

#include "base/pairing_heap.h"
#include "base/thread_token.h"
#include "base/units.h"

namespace acre {

class PageHeap;
struct Slab;
struct Tag;
struct SampledRun;

enum class RunKind : uint8_t {
  kNone,     // a header without pages, or pages in transit
  kFree,     // in an arena's set of free runs
  kSlab,     // cut into blocks of one size class
  kSampled,  // the same, but of sampled blocks (cache/sampled_run.h)
  kLarge,    // one block
  kHuge,     // one block that is a mapping of its own
};

// What a sampler (observe/sampler.h) knows a block by.
using Ticket = uint32_t;
inline constexpr Ticket kNoTicket = 0;

// What a free run's pages hold.
enum class Holds : uint8_t {
  kClean,  // nothing: they read as zeroes
  kDirty,  // physical memory
  kMuzzy,  // physical memory that the kernel may take when it is short of it
};

// What a huge block's memory is: with anonymous memory the kernel can do more.
enum class Backing : uint8_t { kAnonymous, kSource };

// All fields change only under the arena's page lock, or while the run has one holder.
struct Run {
  Address base = 0;
  size_t pages = 0;
  RunKind kind = RunKind::kNone;
  Holds holds = Holds::kClean; // free run, or one that is being purged: what its pages hold
  bool fresh = false;          // run in use: its pages were clean (zero) when it was made
  Backing backing = Backing::kAnonymous;  // huge block
  Ticket ticket = kNoTicket;   // large or huge block in use: its sampler's
  size_t asked = 0;            // large or huge block in use: the bytes that were asked for
  PageHeap* home = nullptr;    // fixed for ever; a huge block has one if it is of a manual arena
  union {
    Slab* slab = nullptr;      // slab run: the header of its blocks
    SampledRun* sampled;       // run of sampled blocks: the same
    ThreadToken purger;        // run that is being purged: by this thread
  };
  union {
    Tag* tag = nullptr;        // large or huge block in use: the one that it counts for, or null (manual/tags.h)
    uint32_t* labels;          // slab run of a labelled arena (slab/labels.h)
  };
  HeapNode<Run> node;          // free run: its place in the set. Otherwise next links lists of headers
  Run* older = nullptr;        // in a RunAges (free_runs.h)
  Run* younger = nullptr;

  Address end() const { return base + bytes(); }
  size_t bytes() const { return pages << kPageShift; }
};

struct LowerAddress {
  template <class T>
  bool operator()(const T& a, const T& b) const {
    return a.base < b.base;
  }
};

}  // namespace acre
