// base/clock: the system's clocks, by whatever way.
#include "base/clock.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "os/os.h"

namespace acre {
namespace {

constexpr clockid_t kClocks[] = {CLOCK_MONOTONIC, CLOCK_MONOTONIC_COARSE, CLOCK_REALTIME, CLOCK_THREAD_CPUTIME_ID};

uint64_t by_c_library(clockid_t clock) {
  timespec time;
  EXPECT_EQ(clock_gettime(clock, &time), 0);
  return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

void expect_the_time() {
  for (clockid_t clock : kClocks) {
    const uint64_t before = by_c_library(clock), now = nanoseconds_of(clock), after = by_c_library(clock);
    EXPECT_LE(before, now) << clock;
    EXPECT_LE(now, after) << clock;
  }
}

// While it lives, another function than the kernel's.
class Clock : public testing::Test {
 protected:
  void TearDown() override { g_clock_function.store(found); }
  const ClockFunction found = g_clock_function.load();
};

int fail(clockid_t, timespec* time) {
  memset(time, 0x5a, sizeof *time);
  return -1;
}
int say_five_seconds(clockid_t, timespec* time) {
  *time = {5, 7};
  return 0;
}

// As a sandbox: it refuses to tell the time.
bool refuse_the_clock() {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  sock_fprog program{sizeof filter / sizeof filter[0], filter};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST_F(Clock, TheKernelsFunctionIsFound) {
  if (getauxval(AT_SYSINFO_EHDR) == 0) GTEST_SKIP() << "the kernel maps no functions into this process";
  EXPECT_NE(found, nullptr);
  errno = 77;
  g_clock_function.store(nullptr);
  os::find_clock();
  EXPECT_EQ(g_clock_function.load(), found);
  EXPECT_EQ(errno, 77);
}

TEST_F(Clock, TellsTheTime) { expect_the_time(); }

TEST_F(Clock, WithoutTheKernelsFunctionTheSystemIsAsked) {
  g_clock_function.store(nullptr);
  expect_the_time();
}

TEST_F(Clock, WhereItFailsTheSystemIsAsked) {
  g_clock_function.store(fail);
  expect_the_time();
}

TEST_F(Clock, AllClocksAreReadByIt) {
  g_clock_function.store(say_five_seconds);
  EXPECT_EQ(os::now_ms(), 5000u);
  for (uint64_t time : {os::now_ns(), os::thread_ns(), os::wall_clock_ns()}) EXPECT_EQ(time, 5000000007u);
}

TEST_F(Clock, IsZeroWhereTheSystemRefusesToTell) {
  for (ClockFunction function : {static_cast<ClockFunction>(nullptr), static_cast<ClockFunction>(fail)}) {
    const pid_t child = fork();
    if (child == 0) {
      if (!refuse_the_clock()) _exit(77);
      g_clock_function.store(function);
      errno = 77;
      const bool is_zero = nanoseconds_of(CLOCK_MONOTONIC) == 0 && os::now_ms() == 0 && os::wall_clock_ns() == 0;
      _exit(is_zero && errno == 77 ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) GTEST_SKIP() << "may not use seccomp";
    EXPECT_EQ(status, 0);
  }
}

}  // namespace
}  // namespace acre
