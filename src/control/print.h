// All figures as text: for people, as JSON, as OpenMetrics. docs/statistics.md describes the three formats.
#pragma once

#include "control/output.h"
#include "tables/options.h"

namespace acre {

// What to leave out, by the letters of jemalloc's malloc_stats_print.
struct Omitted {
  bool general = false;  // g: what never changes
  bool merged = false;   // m: all arenas together
  bool arenas = false;   // a: each arena
  bool classes = false;  // b: size classes
  bool large = false;    // l: large blocks by length
  bool locks = false;    // x
  bool free_runs = false;  // e: free runs by length
};

// Reads the letters. J sets *format. All letters that are not listed above are ignored (d and h name nothing in acre).
Omitted read_letters(const char* letters, StatsFormat* format);

// Gathers figures and passes the text to `write` in parts of a few KiB. write null: prints to stderr. No lock is held
// meanwhile, so `write` may do anything. Returns 0, or EAGAIN, with nothing written, if memory is refused.
int print_statistics(StatsFormat format, const Omitted& omitted, WriteText write, void* opaque);

// The same to a file descriptor. Prints one line if memory is refused.
void print_statistics(StatsFormat format, int fd);

void print_text(const Report& report, const Omitted& omitted, Output& out);
void print_json(const Report& report, const Omitted& omitted, Output& out);
void print_openmetrics(const Report& report, Output& out);

// A summary of a few lines for people. add_constraints() adds its lines about limits in force and refusals by the
// system, each only where it applies.
inline constexpr size_t kSummaryBytes = 2048;
void add_summary(Text& text, const ProcessStatistics& figures);
void add_constraints(Text& text);

// Adds one letter of a name that the user chose, the letter at `at`, and returns where the next letter is. A byte that
// is not UTF-8 becomes U+FFFD and its two hexadecimal digits, so that different names stay different.
const char* add_letter(Text& text, const char* at);

// Calls action(info) for each tag.
template <class Action>
void for_each_tag(Action action) {
  TagInfo info;
  for (const Tag* tag = tags::next(nullptr); tag != nullptr; tag = tags::next(tag)) {
    if (tags::describe(tag, &info)) action(info);  // else the tag has gone meanwhile
  }
}

// Adds a text of the user's as a JSON string, with its quotes.
void add_json_text(Output& out, const char* text);

}  // namespace acre
