// The heap profile as a file.
#pragma once

#include <atomic>
#include <cstdint>

#include "report/output.h"

namespace acre::report {

enum class Kind : uint8_t {
  kLive,    // what is allocated and not freed, and, beside it, all that was ever allocated
  kPeak,    // what was live when most was
  kGrowth,  // where address space had to be got from the system
  kLegacy,  // as kLive, as the text that gperftools' pprof and jeprof read
};

// Writes a profile of this kind. All that it says is of about one moment. Returns 0 or an error number: then there is
// no such file, or the one that was there before. Until it is whole it has no name or, where the file system has no
// nameless files, another one, PATH.PID.N.part; but where no other file can be made, and to a link, a pipe or a device,
// it is written as it comes.
// Calls malloc never. Not for signal handlers.
int write_profile(const char* path, Kind kind);

// A function of the program's that is told of each file written so, as jemalloc's experimental.hooks.prof_dump. Null:
// none.
using WrittenHook = void(const char* path);
inline constinit std::atomic<WrittenHook*> g_on_written{nullptr};

// The same to whoever takes it, in parts of at most 64 KiB. After an error it may have taken some.
int write_profile(Sink sink, Kind kind);

// The same to a file named after the program, the process and how many were written before, in the folder of the
// option prof_folder: PROGRAM.PID.live.pb.gz, or, with numbered, PROGRAM.PID.N.live.pb.gz. A prefix (prof_prefix) stands
// in the program's place, and, if it has a slash, in the folder's too.
enum class Naming : uint8_t { kFinal, kNumbered };

// From now on; null: as the option says. False: no memory for the text, or it is too long.
bool set_prefix(const char* prefix);
int write_profile(Kind kind, Naming naming);

}  // namespace acre::report
