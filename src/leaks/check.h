// The check for leaks: finds blocks that the program has and cannot reach any more.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "leaks/graph.h"
#include "tables/options.h"

namespace acre::leaks {

struct Request {
  LeakMode mode = LeakMode::kNormal;  // kMinimal: without blocks from before main. kDraconian: all that live
  uint32_t since = 0;                 // only blocks since this epoch (profile::next_epoch()); 0: all
};

// What a check has found. The leaks lie in the room.
struct Finding {
  Room room;
  LeakMode mode = LeakMode::kNormal;
  const Leak* leaks = nullptr;
  size_t places = 0;           // of leaks, some of them empty
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t leaked_blocks = 0;
  uint64_t leaked_bytes = 0;
  uint64_t doubtful_blocks = 0;  // an estimate (Graph::count_doubtful); 0 where blocks are cleared
  unsigned threads = 0;        // those that were stopped, and the caller
  unsigned running = 0;        // those that could not be stopped
  unsigned refusal = 0;        // the error number of that
  uint64_t stopped_us = 0;     // how long the threads were stopped
};

// Stops the other threads, looks for leaks, and lets the threads go on. Returns 0, or an error number: EAGAIN if memory
// is refused, EBUSY if another check is under way, EFAULT if the check failed. Any thread that holds no lock may call
// it, but no signal handler.
int check(const Request& request, Finding* finding);

// --- What the program excludes from checks. Any thread may call these functions. ------------------------------------

// Ignores a block, and what it leads to. Returns false if too many blocks are ignored.
bool ignore_block(Address a);
// Returns false if the block was not ignored.
bool heed_block(Address a);

// Leaves out memory: no pointers are looked for in it. Returns false if too many ranges are left out.
bool leave_out(Address start, size_t bytes);
bool take_in(Address start);

}  // namespace acre::leaks
