// What the system lets this process have: its cgroup's memory limits and processor quota, and how short of memory
// the machine is. Part of the contract in os.h.
//
// Each call opens the files that it needs, reads and closes them: no descriptor stays open. What cannot be read is
// unlimited. Cgroups are looked for where they are by custom, below /sys/fs/cgroup, version 1 (`memory`, `cpu`)
// before version 2; the group is the one that /proc/self/cgroup names, or, where a container sees nothing but its own,
// the topmost. Limits of the groups above count as well, as far up as can be seen.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::os {

struct CgroupMemory {
  size_t most = SIZE_MAX;  // beyond it processes are killed: memory.max, memory.limit_in_bytes; the least on the way up
  size_t high = SIZE_MAX;  // beyond it they are held up: memory.high
  size_t used = 0;         // by the group that `most` or `high` is of, without files that can be dropped; 0: no limit
};
CgroupMemory cgroup_memory();

// Processors' worth of time in a period (cpu.max, cpu.cfs_quota_us), rounded up; the least on the way up. 0: no quota.
unsigned cgroup_processors();

// Microseconds for which some thread has waited for memory, ever (PSI: memory.pressure of the cgroup, or
// /proc/pressure/memory). kNoPressure: the kernel does not say.
inline constexpr uint64_t kNoPressure = UINT64_MAX;
uint64_t memory_stall_us();

// Resident memory of this process that belongs to no file. 0: unknown.
size_t anonymous_bytes();

#if ACRE_TESTING
namespace testing {
// Stands before the path of every file that is read here. Null: nothing does.
void use_files_below(const char* folder);
}  // namespace testing
#endif

}  // namespace acre::os
