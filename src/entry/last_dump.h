// What is written at the program's end: the heap profile, and statistics to stderr.
#pragma once

namespace acre::last_dump {

// In the library's constructor, before the profiler starts: makes the file of the option postmortem, remembers stderr,
// and catches signals if the option final_signals is set.
void start();

// Writes what prof_final and stats_print ask for. Once: a second call does nothing.
void write();

}  // namespace acre::last_dump
