// Options, declared once in the table below; the parser, the defaults and the printed list follow from it.
//
// Read once at start-up from ACRE_CONF ("name:value,name:value"); ignored in set-user-id programs.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

// X(name, type, default, least, most, help)
#define ACRE_OPTIONS(X)                                                                                      \
  X(stats_print, bool, 0, 0, 1, "print a summary to stderr when the program ends")                          \
  X(arenas, uint64_t, 0, 0, 256, "most arenas; 0: one on one processor, else four times the processors")    \
  X(dirty_decay_ms, int64_t, 10000, -1, INT64_MAX / 1000000, "time in which unused dirty pages are returned to " \
    "the OS, in milliseconds; 0: at the next occasion, -1: never")                                          \
  X(muzzy_decay_ms, int64_t, 0, -1, INT64_MAX / 1000000, "not 0: dirty pages become muzzy (MADV_FREE) before they " \
    "are returned, and may be it for so many milliseconds; -1: for ever")                                   \
  X(release_rate, int64_t, -1, -1, int64_t{1} << 50, "bytes of dirty pages returned to the OS in a second, in place " \
    "of the decay times; 0: none, -1: the decay times hold")                                                 \
  X(background_thread, bool, 0, 0, 1, "a thread that returns memory when the program is idle")              \
  X(thread_cache_max, int64_t, -1, -1, INT64_MAX, "bytes of runs that all threads together may keep "        \
    "beyond their current runs; -1: a quarter of the memory in use, 64 MiB if that is more, or all of "     \
    "it while there is one thread")                                                                         \
  X(unit_table, bool, 1, 0, 1, "find runs by their place where address space allows; off: by the page map")

struct Options {
#define ACRE_X(name, type, initial, least, most, help) type name = initial;
  ACRE_OPTIONS(ACRE_X)
#undef ACRE_X
};

// The options in force. Written at start-up, before the program's threads, and read-only afterwards.
const Options& options();

// Reads ACRE_CONF out of an environment block. A wrong name or value is one line on stderr, and the default
// stays.
void read_options(char** environment);

}  // namespace acre
