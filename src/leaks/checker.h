// The leak checker in a process: when it looks, and what follows.
#pragma once

#include "leaks/check.h"
#include "leaks/report.h"

namespace acre::leaks {

// As the options say, of which leaks is set; in the library's constructor, before the profiler starts.
void start();

// Called when the library is ended, after the program's handlers and destructors.
void end();

// A check now, and its report in a file: path, or one in leaks_folder. Returns 0 or an error number.
int dump(const char* path);

// The same to whoever takes the report, who is called when the check is done and the threads run again.
int dump(report::Sink sink);

// A check of what was allocated since an epoch began, for a section of the program; since 0, for all of it, by the mode of
// the option. With leaks, a report and a line on stderr. Returns 0 or an error number.
int check_section(const char* name, uint32_t since, uint64_t* blocks, uint64_t* bytes);

// Whether the option leaks is set, and holds for this process.
bool is_on();

// Whether the mode is one that checks the whole program, at its end; and that it shall not.
bool is_whole_program_checked();
void cancel();

}  // namespace acre::leaks
