#include <cinttypes>
#include <cstdio>

#include "say.h"
#include "schedule.h"

namespace acre::trace {

int schedule(const ScheduleOptions& options) {
  const ScheduleResult result = make_schedule(options);
  if (!result.error.empty()) {
    say("replay: %s", result.error.c_str());
    return 1;
  }
  if (options.json) {
    printf("{\"process\":%" PRIu32 ",\"operations\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"slots\":%" PRIu64
           ",\"inherited\":%" PRIu64 ",\"earlier\":%" PRIu64 ",\"contradictions\":%" PRIu64 ",\"lost\":%" PRIu64
           ",\"waits\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"peak_bytes\":%" PRIu64 ",\"bytes\":%" PRIu64
           ",\"other_processes\":%" PRIu64 ",\"other_events\":%" PRIu64 ",\"problems\":%" PRIu64
           ",\"resident_peak\":%" PRIu64 ",\"resident_mean\":%" PRIu64 ",\"seconds\":%.9f}\n",
           result.process, result.operations, result.threads, result.slots, result.inherited, result.earlier,
           result.contradictions, result.lost, result.waits, result.samples, result.peak_bytes, result.bytes,
           result.other_processes, result.other_events, result.problems,
           result.resident_peak, result.resident_mean, result.seconds);
  } else {
    printf("process %" PRIu32 ": %" PRIu64 " operations of %" PRIu64 " threads on up to %" PRIu64
           " blocks, in %.3f s\n",
           result.process, result.operations, result.threads, result.slots, result.seconds);
  }
  const auto left_out = [](uint64_t count, const char* what) {
    if (count != 0) say("replay: %" PRIu64 " %s", count, what);
  };
  if (!options.process && result.other_processes != 0) {
    say("replay: process %" PRIu32 " has the most events; %" PRIu64 " others with %" PRIu64
        " events are left out (--process)",
        result.process, result.other_processes, result.other_events);
  }
  left_out(result.earlier, "frees and resizes of blocks from before the recording are left out");
  left_out(result.lost, "events were not recorded");
  left_out(result.contradictions, "blocks were given out again although no free of them is in the file: freed then");
  left_out(result.problems, "parts of the file are damaged and were left out");
  return fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace acre::trace
