// What acre holds, summed up over arenas and threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/atomics.h"
#include "base/text.h"
#include "base/thread_token.h"
#include "heap/background.h"
#include "pages/run.h"
#include "tables/size_class.h"

namespace acre {

// Bytes, unless named otherwise. Gathered without stopping anyone: while other threads allocate, the figures
// are each right at some time during the call, not all at the same.
struct Statistics {
  size_t mapped = 0;            // address space in chunks, huge blocks and metadata
  size_t used_runs = 0;         // in slab and large runs
  size_t dirty_bytes = 0;       // free runs that hold memory
  size_t muzzy_bytes = 0;       // free runs whose memory the kernel may take; resident until then
  size_t clean_bytes = 0;       // free runs that hold none
  size_t huge_blocks = 0;
  size_t huge_bytes = 0;
  size_t live_blocks = 0;       // with the program, or in threads' private lists
  size_t live_bytes = 0;
  size_t free_blocks = 0;       // in slab runs, carved or not
  size_t free_block_bytes = 0;
  size_t owned_free_bytes = 0;  // of these in runs that a thread owns, for it to hand out
  size_t returned_bytes = 0;    // of these given back by others to such a run, and not collected yet
  size_t metadata = 0;
  unsigned threads = 0;
  unsigned arenas = 0;
  background::State background_thread = background::State::kNone;
  uint64_t refills = 0;         // slow door events of live threads
  uint64_t new_runs = 0;
  uint64_t adoptions = 0;
  uint64_t remote_frees = 0;
  uint64_t purges = 0;          // system calls
  uint64_t purged_bytes = 0;
};

// One arena's part. Sums of bytes are those of Statistics, but for huge blocks, which belong to no arena.
struct ArenaStatistics {
  unsigned threads = 0;         // bound to it
  size_t used_pages = 0;        // in slab and large runs
  size_t slab_pages = 0;        // of them in slab runs
  size_t dirty_pages = 0;
  size_t muzzy_pages = 0;
  size_t clean_pages = 0;
  size_t small_bytes = 0;       // in slab runs' blocks that are with the program, or in threads' private lists
  uint64_t purges = 0;
  uint64_t purged_pages = 0;
};

// The blocks of a slab run, or of one of watched blocks, of some moment: others go on changing it.
struct SlabUse {
  size_t block_bytes = 0;  // 0: it is no such run any more
  SizeClass size_class = 0;
  size_t pages = 0;        // of the run
  ThreadToken owner = kNoThread;
  uint32_t live = 0;
  uint32_t at_owner = 0;   // free, for the thread that owns the run to hand out
  uint32_t returned = 0;   // free, given back by others to the thread that owns the run
  uint32_t unowned = 0;    // free, in a run that no thread owns
  uint32_t free() const { return at_owner + returned + unowned; }
};
SlabUse use_of(const Run* run);
inline bool has_blocks_of_a_class(const Run* run) {
  const RunKind kind = racy_load(run->kind);
  return kind == RunKind::kSlab || kind == RunKind::kWatched;
}

// each: room for arenas::kFigures, all as just made, or null.
Statistics gather_statistics(ArenaStatistics* each = nullptr);

// A summary for people, of a few lines.
inline constexpr size_t kSummaryBytes = 2048;
void add_summary(Text& text);
void print_summary(int fd);

}  // namespace acre
