// os/cgroup: made-up files as the kernel writes them, of both versions of cgroups.
#include "os/cgroup.h"

#include <gtest/gtest.h>

#include <string>

#include "files.h"
#include "os/os.h"

namespace acre {
namespace {

class Cgroup : public testing::Test, protected test::MadeUpFiles {
 protected:
  void group(const std::string& path) { write(path + "/cgroup.procs", "1\n"); }
};

constexpr char kNone1[] = "9223372036854771712\n";

TEST_F(Cgroup, NothingIsThere) {
  EXPECT_EQ(os::cgroup_memory().most, SIZE_MAX);
  EXPECT_EQ(os::cgroup_memory().high, SIZE_MAX);
  EXPECT_EQ(os::cgroup_memory().used, 0u);
  EXPECT_EQ(os::cgroup_processors(), 0u);
  EXPECT_EQ(os::memory_stall_us(), os::kNoPressure);
  EXPECT_EQ(os::anonymous_bytes(), 0u);
}

TEST_F(Cgroup, Version1TakesTheLeastOnTheWayUp) {
  write("/proc/self/cgroup", "9:name=systemd:/x\n4:memory:/pod/box\n1:cpu,cpuacct:/pod/box\n0::/\n");
  const std::string memory = "/sys/fs/cgroup/memory";
  for (const char* below : {"", "/pod", "/pod/box"}) group(memory + below);
  write(memory + "/memory.limit_in_bytes", kNone1);
  write(memory + "/pod/memory.limit_in_bytes", "100000000\n");
  write(memory + "/pod/memory.usage_in_bytes", "60000000\n");
  write(memory + "/pod/memory.stat",
        "cache 9\ninactive_file 1\nactive_file 2\ntotal_inactive_file 5000000\ntotal_active_file 1000000\n");
  write(memory + "/pod/box/memory.limit_in_bytes", kNone1);
  EXPECT_EQ(os::cgroup_memory().most, 100000000u);
  EXPECT_EQ(os::cgroup_memory().used, 54000000u);
  EXPECT_EQ(os::cgroup_memory().high, SIZE_MAX);

  write(memory + "/pod/box/memory.limit_in_bytes", "70000000\n");
  write(memory + "/pod/box/memory.usage_in_bytes", "50000\n");
  write(memory + "/pod/box/memory.stat", "total_inactive_file 60000\n");
  EXPECT_EQ(os::cgroup_memory().most, 70000000u);
  EXPECT_EQ(os::cgroup_memory().used, 0u) << "the files' part is of another moment";

  const std::string cpu = "/sys/fs/cgroup/cpu";
  for (const char* below : {"", "/pod", "/pod/box"}) group(cpu + below);
  write(cpu + "/pod/cpu.cfs_quota_us", "350000\n");
  write(cpu + "/pod/cpu.cfs_period_us", "100000\n");
  write(cpu + "/pod/box/cpu.cfs_quota_us", "-1\n");
  write(cpu + "/pod/box/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(os::cgroup_processors(), 4u);
  write(cpu + "/pod/box/cpu.cfs_quota_us", "20000\n");
  EXPECT_EQ(os::cgroup_processors(), 1u);
}

// The path is one of the machine's, of which the container sees its own group as the topmost.
TEST_F(Cgroup, AContainerSeesItsOwnGroupAtTheTop) {
  write("/proc/self/cgroup", "4:memory:/docker/0123456789abcdef\n");
  group("/sys/fs/cgroup/memory");
  write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n");
  EXPECT_EQ(os::cgroup_memory().most, 1000000u);
}

TEST_F(Cgroup, Version2) {
  write("/proc/self/cgroup", "0::/user.slice/a b\n");
  const std::string top = "/sys/fs/cgroup", slice = top + "/user.slice", own = slice + "/a b";
  for (const std::string& path : {top, slice, own}) group(path);
  write(own + "/memory.max", "max\n");
  write(own + "/memory.high", "max\n");
  write(own + "/cpu.max", "max 100000\n");
  EXPECT_EQ(os::cgroup_memory().most, SIZE_MAX);
  EXPECT_EQ(os::cgroup_processors(), 0u);

  write(slice + "/memory.max", "500000000\n");
  write(slice + "/memory.current", "300000000\n");
  write(slice + "/memory.stat", "anon 1\nfile 2\ninactive_anon 3\ninactive_file 20000000\nactive_file 4000000\n");
  write(own + "/memory.high", "400000000\n");
  write(own + "/memory.current", "200000000\n");
  write(own + "/memory.stat", "anon 1\n");
  EXPECT_EQ(os::cgroup_memory().most, 500000000u);
  EXPECT_EQ(os::cgroup_memory().high, 400000000u);
  EXPECT_EQ(os::cgroup_memory().used, 200000000u) << "of the group whose limit is the least";
  write(own + "/memory.high", "max\n");
  EXPECT_EQ(os::cgroup_memory().used, 276000000u);

  write(slice + "/cpu.max", "150000 100000\n");
  EXPECT_EQ(os::cgroup_processors(), 2u);
  write(own + "/cpu.max", "100000 100000\n");
  EXPECT_EQ(os::cgroup_processors(), 1u);
}

TEST_F(Cgroup, PressureIsTheGroupsOrElseTheMachines) {
  write("/proc/pressure/memory", "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\nfull avg10=0.00 total=1\n");
  EXPECT_EQ(os::memory_stall_us(), 77u);
  write("/proc/self/cgroup", "4:memory:/x\n0::/y\n");
  group("/sys/fs/cgroup/unified");
  group("/sys/fs/cgroup/unified/y");
  EXPECT_EQ(os::memory_stall_us(), 77u);
  write("/sys/fs/cgroup/unified/y/memory.pressure", "some avg10=1.00 avg60=0.00 avg300=0.00 total=123456789\n");
  EXPECT_EQ(os::memory_stall_us(), 123456789u);
}

TEST_F(Cgroup, AnonymousBytesAreResidentOnesWithoutFiles) {
  write("/proc/thread-self/statm", "1000 300 100 5 0 200 0\n");
  EXPECT_EQ(os::anonymous_bytes(), 200 * os::page_bytes());
}

TEST_F(Cgroup, NonsenseIsNoLimit) {
  group("/sys/fs/cgroup");
  for (const char* text : {"", "\n", ":", "0:", "0::", "0::/", "::::\n\n", "x\n0::/\n"}) {
    write("/proc/self/cgroup", text);
    write("/sys/fs/cgroup/memory.max", "99999999999999999999999999\n");
    EXPECT_EQ(os::cgroup_memory().most, SIZE_MAX) << text;
  }
  write("/proc/self/cgroup", "0::/\n");
  for (const char* text : {"", "\n", "abc", "-5\n", " 7\n"}) {
    write("/sys/fs/cgroup/memory.max", text);
    EXPECT_EQ(os::cgroup_memory().most, SIZE_MAX) << text;
  }
  write("/proc/self/cgroup", "0::/" + std::string(5000, 'x') + "\n");
  EXPECT_EQ(os::cgroup_memory().most, SIZE_MAX);
}

TEST(ThisMachine, SaysSomethingPlausible) {
  EXPECT_GT(os::anonymous_bytes(), 0u);
  EXPECT_GT(os::cgroup_memory().most, size_t{1} << 20);
}

}  // namespace
}  // namespace acre
