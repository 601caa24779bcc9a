// Words of the command line. What is none of them ends the tool with a line and exit code 2.
#pragma once

#include <cstdint>

namespace acre::trace {

[[noreturn]] void refuse(const char* what, const char* word);
double number_of(const char* text, const char* what);
// rest: what stands behind the number; null: nothing may.
uint64_t whole_of(const char* text, const char* what, const char** rest = nullptr);

// The commands that exports and imports need. False: it is none of them. code: the exit code.
bool run_for_exports(const char* what, int count, char** words, int& code);
extern const char kExportUsage[];

}  // namespace acre::trace
