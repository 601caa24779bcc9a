// What the system grants this process: its cgroup's memory limits and processor quota, and how short of memory the
// machine is. Part of the contract in os.h.
//
// Each call opens, reads and closes its files; no descriptor stays open. What cannot be read counts as unlimited.
// Cgroups are expected below /sys/fs/cgroup, version 1 (`memory`, `cpu`) before version 2. The group is the one that
// /proc/self/cgroup names, or the topmost if that is not there, as in a container that sees only its own. The limits of
// the groups above count, too, as far as they can be seen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::os {

struct CgroupMemory {
  size_t most = SIZE_MAX;  // above it processes are killed: memory.max, memory.limit_in_bytes; the least of all groups
  size_t high = SIZE_MAX;  // above it processes are slowed down: memory.high
  size_t used = 0;         // by the group of the lowest limit, without files that can be dropped; 0: no limit
};
CgroupMemory cgroup_memory();

// Processor time per period (cpu.max, cpu.cfs_quota_us) in processors, rounded up; the least of all groups; 0: none.
unsigned cgroup_processors();

// Microseconds in which some thread waited for memory, since the start (PSI: memory.pressure of the cgroup, or
// /proc/pressure/memory). kNoPressure: the kernel does not tell.
inline constexpr uint64_t kNoPressure = UINT64_MAX;
uint64_t memory_stall_us();

// Resident memory of this process that is no file's. 0: unknown.
size_t anonymous_bytes();

#if ACRE_TESTING
namespace testing {
// Puts this before the path of each file that is read here. Null: nothing.
void use_files_below(const char* folder);
}  // namespace testing
#endif

}  // namespace acre::os
