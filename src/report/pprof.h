// The profile as pprof's protocol buffer (github.com/google/pprof, proto/profile.proto).
#pragma once

#include "report/output.h"
#include "report/profile_file.h"

namespace acre::report {

// kind: not kLegacy. 0 or an error number.
int write_pprof(Gzip& to, Kind kind);

}  // namespace acre::report
