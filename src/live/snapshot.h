// Statistics for a process that ends without warning: written to the file of the option postmortem from time to time.
#pragma once

#include <cstdint>

namespace acre::snapshot {

// Writes statistics and the mappings if it is time. Returns the milliseconds until the next time, or kNever.
inline constexpr uint64_t kNever = UINT64_MAX;
uint64_t look();

// Writes them now. Waits for another thread that does so.
void write();

void after_fork_in_child();

}  // namespace acre::snapshot
