// Writes a check's findings as JSON, with addresses and mappings, which `acre leaks` makes readable.
#pragma once

#include "leaks/check.h"
#include "report/output.h"

namespace acre::leaks {

enum class Moment : uint8_t { kExit, kLive, kSection };

// path null: in leaks_folder, PROGRAM.PID.leaks.json for kExit, else PROGRAM.PID.N.leaks.json. name: the program's name
// for the check, or null. *used, of kMostBytesOfPath bytes, gets the path. Returns 0 or an error number.
inline constexpr size_t kMostBytesOfPath = kMostPath + 300;
int write_report(const char* path, const Finding& finding, Moment moment, const char* name, char* used);

// The same to a sink, in parts of at most 64 KiB, without a byte of 0.
int write_report(report::Sink sink, const Finding& finding, Moment moment);

}  // namespace acre::leaks
