// What acre holds, summed up over arenas and threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/text.h"
#include "heap/background.h"

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

// each: room for arenas::kFigures, all as just made, or null.
Statistics gather_statistics(ArenaStatistics* each = nullptr);

// A summary for people, of a few lines.
inline constexpr size_t kSummaryBytes = 1024;
void add_summary(Text& text);
void print_summary(int fd);

}  // namespace acre
