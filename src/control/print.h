// All figures as text: for people, as JSON, as OpenMetrics. docs/statistics.md describes the three.
#pragma once

#include "control/output.h"
#include "tables/options.h"

namespace acre {

// What is left out, by the letters of jemalloc's malloc_stats_print.
struct Omitted {
  bool general = false;  // g: what never changes
  bool merged = false;   // m: all arenas together
  bool arenas = false;   // a: each arena
  bool classes = false;  // b: size classes
  bool large = false;    // l: large blocks by length
  bool locks = false;    // x
  bool free_runs = false;  // e: free runs by length
};

// Reads the letters; others than these, d and h (which name nothing that acre has) and J count as not there.
Omitted read_letters(const char* letters, StatsFormat* format);

// Gathers figures and gives the text to `write` in parts of a few KiB; null: to stderr. No lock is held meanwhile, and
// `write` may do anything. 0; EAGAIN: memory for them was refused, and nothing was written.
int print_statistics(StatsFormat format, const Omitted& omitted, WriteText write, void* opaque);

// The same to a file descriptor, a line if memory was refused.
void print_statistics(StatsFormat format, int fd);

void print_text(const Report& report, const Omitted& omitted, Output& out);
void print_json(const Report& report, const Omitted& omitted, Output& out);
void print_openmetrics(const Report& report, Output& out);

// A name of the user's, letter by letter: adds the one at `at`, or for a byte that is no UTF-8 U+FFFD and its two
// hexadecimal digits, so that names stay different; returns where the next one is.
const char* add_letter(Text& text, const char* at);

// action(info), for each tag.
template <class Action>
void for_each_tag(Action action) {
  TagInfo info;
  for (const Tag* tag = tags::next(nullptr); tag != nullptr; tag = tags::next(tag)) {
    if (tags::describe(tag, &info)) action(info);  // else it has gone meanwhile
  }
}

// A text of the user's as JSON has it, with the quotes.
void add_json_text(Output& out, const char* text);

}  // namespace acre
