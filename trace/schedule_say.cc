#include <cinttypes>
#include <cstdio>
#include <string>
#include <vector>

#include "proc.h"
#include "say.h"
#include "schedule.h"

namespace acre::trace {

namespace {

// What was left out, a line each.
std::vector<std::string> notes_of(const ScheduleResult& result, bool is_chosen) {
  std::vector<std::string> notes;
  if (!is_chosen && result.other_processes != 0) {
    notes.push_back("process " + std::to_string(result.process) + " has the most events; " +
                    std::to_string(result.other_processes) + (result.other_processes == 1 ? " other" : " others") +
                    " with " + std::to_string(result.other_events) + " events left out (--process)");
  }
  const auto left_out = [&](uint64_t count, const char* what) {
    if (count != 0) notes.push_back(std::to_string(count) + " " + what);
  };
  left_out(result.earlier, "frees and resizes of blocks from before the recording are left out");
  left_out(result.lost, "events were not recorded");
  left_out(result.contradictions, "blocks were given out again although no free of them is in the file: freed then");
  left_out(result.problems, "parts of the file are damaged and were left out");
  return notes;
}

void print_json(const ScheduleResult& result, const std::vector<std::string>& notes) {
  printf("{\"process\":%" PRIu32 ",\"operations\":%" PRIu64 ",\"threads\":%" PRIu64 ",\"slots\":%" PRIu64
         ",\"inherited\":%" PRIu64 ",\"earlier\":%" PRIu64 ",\"contradictions\":%" PRIu64 ",\"lost\":%" PRIu64
         ",\"waits\":%" PRIu64 ",\"samples\":%" PRIu64 ",\"peak_bytes\":%" PRIu64 ",\"bytes\":%" PRIu64
         ",\"other_processes\":%" PRIu64 ",\"other_events\":%" PRIu64 ",\"problems\":%" PRIu64
         ",\"resident_peak\":%" PRIu64 ",\"resident_mean\":%" PRIu64 ",\"seconds\":%.9f,\"notes\":[",
         result.process, result.operations, result.threads, result.slots, result.inherited, result.earlier,
         result.contradictions, result.lost, result.waits, result.samples, result.peak_bytes, result.bytes,
         result.other_processes, result.other_events, result.problems, result.resident_peak, result.resident_mean,
         result.seconds);
  for (size_t i = 0; i < notes.size(); ++i) printf("%s%s", i == 0 ? "" : ",", json_string(notes[i]).c_str());
  puts("]}");
}

}  // namespace

int schedule(const ScheduleOptions& options) {
  const ScheduleResult result = make_schedule(options);
  if (!result.error.empty()) {
    if (options.json)
      printf("{\"error\":%s}\n", json_string(result.error).c_str());
    else
      say("replay: %s", result.error.c_str());
    return 1;
  }
  const std::vector<std::string> notes = notes_of(result, options.process.has_value());
  if (options.json) {
    print_json(result, notes);
  } else {
    printf("process %" PRIu32 ": %" PRIu64 " operations of %" PRIu64 " threads on up to %" PRIu64
           " blocks, in %.3f s\n",
           result.process, result.operations, result.threads, result.slots, result.seconds);
    for (const std::string& note : notes) say("replay: %s", note.c_str());
  }
  return fflush(stdout) == 0 ? 0 : 1;
}

}  // namespace acre::trace
