// What acre holds, summed up over arenas and threads.
#pragma once

#include <cstddef>
#include <cstdint>

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

Statistics gather_statistics();

// Writes a summary for people.
void print_summary(int fd);

}  // namespace acre
