// The heap profiler in a process: when it starts, and when it writes.
#pragma once

namespace acre::report {

// As the options say, of which prof is set; in the library's constructor.
void start_profiler();

// From now on, or no longer: a profile for each new maximum of address space in use, while sampling is on. False: no
// thread to write it.
bool write_at_new_maximum(bool on);

// The program ends, and prof_final is set. Returns whether profiles were written.
bool end_profiler();

}  // namespace acre::report
