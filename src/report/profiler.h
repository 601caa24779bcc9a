// The heap profiler in a process: when it starts, and when it writes.
#pragma once

namespace acre::report {

// As the options say, of which prof is set; in the library's constructor.
void start_profiler();

// The program ends, and prof_final is set.
void end_profiler();

}  // namespace acre::report
