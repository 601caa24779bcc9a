// The check for leaks: blocks that the program has, and cannot reach any more.
#pragma once

#include <cstdint>

#include "base/mutex.h"
#include "leaks/graph.h"
#include "tables/options.h"

namespace acre::leaks {

struct Request {
  LeakMode mode = LeakMode::kNormal;  // kMinimal: but from before main. kDraconian: all that lives
  uint32_t since = 0;                 // profile::next_epoch(): only blocks allocated since; 0: all
};

// What a check has found. Its leaks live in the room.
struct Finding {
  Room room;
  LeakMode mode = LeakMode::kNormal;
  const Leak* leaks = nullptr;
  size_t places = 0;           // of leaks, some of them empty
  uint64_t live_blocks = 0;
  uint64_t live_bytes = 0;
  uint64_t leaked_blocks = 0;
  uint64_t leaked_bytes = 0;
  unsigned threads = 0;        // that were stopped, the caller included
  unsigned running = 0;        // that could not be stopped
  unsigned refusal = 0;        // error number: why
  uint64_t stopped_us = 0;     // for how long
};

// Stops the other threads, looks, and lets them go on. Returns 0 or an error number: EAGAIN, memory was refused; EBUSY,
// another check is under way; EFAULT, the look failed. Any thread, no lock held; not for signal handlers.
int check(const Request& request, Finding* finding);

// --- What is no leak because the program says so. Any thread. -------------------------------------------------------

// A block, and what it leads to. False: there are too many.
bool ignore_block(Address a);
// False: it was not ignored.
bool heed_block(Address a);

// Memory in which no pointers are looked for. False: there are too many.
bool leave_out(Address start, size_t bytes);
bool take_in(Address start);

}  // namespace acre::leaks
