// A check's findings as a file: JSON, with addresses and what is mapped where, which `acre leaks` makes readable.
#pragma once

#include "leaks/check.h"
#include "report/output.h"

namespace acre::leaks {

// When it was.
enum class Moment : uint8_t { kExit, kLive, kSection };

// path null: PROGRAM.PID.leaks.json, or, but for kExit, PROGRAM.PID.N.leaks.json in the option leaks_folder. name: what
// the program calls the check, or null. Returns 0 or an error number; *used, of kMostBytesOfPath: where it is.
inline constexpr size_t kMostBytesOfPath = kMostPath + 300;
int write_report(const char* path, const Finding& finding, Moment moment, const char* name, char* used);

// The same to whoever takes it, in parts of at most 64 KiB, without a byte of 0.
int write_report(report::Sink sink, const Finding& finding, Moment moment);

}  // namespace acre::leaks
