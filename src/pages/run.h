// The header of a run: contiguous pages with one purpose. Headers lie apart from the pages, are never unmapped, and
// stay with the arena that they were made for, so that a stale pointer to one can always be read.
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
  kSampled,  // cut into sampled blocks of one size (cache/sampled_run.h)
  kLarge,    // one block
  kHuge,     // one block that is a mapping of its own
  kGuard,    // pages that cannot be read or written, beside a large block or in place of one (hardened/large_guard.h)
};

// A sampler's key for a block (observe/sampler.h).
using Ticket = uint32_t;
inline constexpr Ticket kNoTicket = 0;

// What a free run's pages hold.
enum class Holds : uint8_t {
  kClean,  // nothing: they read as zeroes
  kDirty,  // physical memory
  kMuzzy,  // physical memory that the kernel may take when it is short of it
};

// The memory of a huge block. The kernel can do more with anonymous memory.
enum class Backing : uint8_t { kAnonymous, kSource };

// Which function allocated a block, in the hardened mode (hardened/). kRounded: mallocx and its kin, whose blocks are as
// long as the rounded size. kAny: not known.
enum class Kind : uint8_t { kMalloc, kNew, kNewArray, kNewAligned, kNewArrayAligned, kRounded, kAny };

// A field changes only under the arena's page lock, or while one thread alone has the run.
struct Run {
  Address base = 0;
  size_t pages = 0;
  RunKind kind = RunKind::kNone;
  Holds holds = Holds::kClean; // free run, or run that is being purged
  bool fresh = false;          // run in use: its pages were clean (zero) when it was made
  Backing backing : 3 = Backing::kAnonymous;  // huge block
  Kind made_by : 3 = Kind::kMalloc;           // large or huge block in use
  bool slack_filled : 1 = false;              // the same: hardened/large_slack.cc
  bool guarded : 1 = false;    // a guard, or a slab run's last page: the OS has made it so (os::guard)
  Ticket ticket = kNoTicket;   // large or huge block in use: the sampler's key
  union {
    size_t asked = 0;          // large or huge block in use: bytes that the program asked for
    uint64_t purged;           // slab run with purged pages: a bit for each (slab/purge.h)
  };
  PageHeap* home = nullptr;    // never changes in an arena's headers; a huge block has one only in a manual arena
  union {
    Slab* slab = nullptr;      // slab run: its header
    SampledRun* sampled;       // run of sampled blocks: its header
    ThreadToken purger;        // run that is being purged: the thread that purges
  };
  union {
    Tag* tag = nullptr;        // large or huge block in use: its tag, or null (manual/tags.h)
    uint32_t* labels;          // slab run of a labelled arena (slab/labels.h)
  };
  HeapNode<Run> node;          // free run: its place in the set. Other headers: next links lists
  union {
    Run* older = nullptr;      // in a RunAges (free_runs.h); of a guard: its block's run
    uint64_t seen_word;        // slab run: its remote word when a look saw it last (Bin::take_quiet); at first any value
  };
  union {
    Run* younger = nullptr;
    uint64_t seen_ms;          // slab run: since when the word is this
  };

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
