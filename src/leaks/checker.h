// The leak checker of a process: when it checks, and what follows.
#pragma once

#include "leaks/check.h"
#include "leaks/report.h"

namespace acre::leaks {

// Starts as the options say; leaks is set. Called by the library's constructor, before the profiler starts.
void start();

// Called at the end of the library, after the program's handlers and destructors.
void end();

// Checks now, and writes a report to a file: path, or one in leaks_folder. Returns 0 or an error number.
int dump(const char* path);

// The same, to a sink. The sink is called when the check is done and the threads run again.
int dump(report::Sink sink);

// Checks the blocks that were allocated since an epoch began, for a section of the program. since 0: checks all blocks,
// by the mode of the option. If there are leaks, writes a report and a line on stderr. Returns 0 or an error number.
int check_section(const char* name, uint32_t since, uint64_t* blocks, uint64_t* bytes);

// Whether the option leaks is set and holds for this process.
bool is_on();

// is_whole_program_checked(): whether the mode checks the whole program at its end. cancel(): omits this check.
bool is_whole_program_checked();
void cancel();

}  // namespace acre::leaks
