// `acre-trace schedule`: the events of one process, as a file that acre-replay plays (replay/format.h).
//
// A thread of the schedule waits for another one where
// - it frees or reallocates a block that the other has allocated or reallocated,
// - it takes a slot that the other has emptied: so there are never more blocks than were recorded at a time,
// - threads meet: up to some 500 times in a recording each waits until all others have come as far as they had then. So
//   the blocks that live then are exactly those that lived.
// All waits point backwards in the order of the events, so the schedule always comes to its end.
//
// Memory: some 100 bytes for each block that lives at a time, and what Order takes for each lane that is open.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace acre::trace {

struct ScheduleOptions {
  std::string path, output;
  std::optional<uint32_t> process;  // otherwise the one with the most events
  bool json = false;
};

struct ScheduleResult {
  std::string error;  // a line; empty: all is well
  uint32_t process = 0;
  uint64_t operations = 0, threads = 0, slots = 0;
  uint64_t inherited = 0;        // blocks of the parent, which the main thread allocates first
  uint64_t earlier = 0;          // frees and resizes of blocks from before the recording: left out
  uint64_t contradictions = 0;   // blocks that were given out while they lived, in files that lack parts
  uint64_t lost = 0;             // events that were not recorded
  uint64_t waits = 0;            // for other threads
  uint64_t samples = 0;
  uint64_t peak_bytes = 0;
  uint64_t bytes = 0;            // of the schedule
  uint64_t other_processes = 0;  // that have events, and are left out
  uint64_t other_events = 0;
  uint64_t problems = 0;         // parts of the file that were left out
  uint64_t resident_peak = 0, resident_mean = 0;  // recorded at intervals, of no file and not shared; 0: unknown
  double seconds = 0;            // from the first event to the last
};

ScheduleResult make_schedule(const ScheduleOptions& options);
int schedule(const ScheduleOptions& options);

}  // namespace acre::trace
