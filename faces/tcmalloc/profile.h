// Stack traces as a heap profile, the text that pprof reads: a line with sums, one for each entry, and the process's
// mappings. entries: as MallocExtension::ReadStackTraces gives them.
#pragma once

#include <string>

// period: bytes between two samples; with 0 the text begins by saying that none are taken.
void append_heap_sample(std::string& to, void* const* entries, int period);

void append_heap_growth(std::string& to, void* const* entries);
