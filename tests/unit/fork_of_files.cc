// pages/file_source: what a process and the child of its fork have of a file that is mapped shared.
#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "acre/acre.h"
#include "manual/manual_arena.h"
#include "sources_support.h"

namespace acre {
namespace {

// Fork handlers that are registered before acre's run before acre's, once, in the child and in the parent. gcc warns of
// constructors of priorities up to 100; clang does not know the warning.
void (*g_first_in_child)() = nullptr;
void (*g_first_in_parent)() = nullptr;
void call_once(void (**function)()) {
  if (void (*call)() = std::exchange(*function, nullptr)) call();
}
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
__attribute__((constructor(90))) void register_handlers() {
  pthread_atfork(nullptr, [] { call_once(&g_first_in_parent); }, [] { call_once(&g_first_in_child); });
}

int status_of(pid_t child) {
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(FileSources, AChildOfAForkCannotHarmTheParent) {
  for (os::Sharing sharing : {os::Sharing::kShared, os::Sharing::kPrivate}) {
    Folder folder;
    Maker maker(folder.c_str());
    maker.file.sharing = sharing;
    maker.on_failure = OnFailure::kFallBack;
    ManualArena* arena = maker.make();
    const auto blocks = fill_up(arena, 10000, 1000);
    const pid_t child = fork();
    if (child == 0) {
      expect_contents(blocks, 10000);
      for (size_t i = 0; i < blocks.size(); i += 2) {
        memset(blocks[i], 0xee, 10000);
        acre_free(blocks[i]);
      }
      for (int i = 0; i < 3000; ++i) {
        void* p = allocate(arena, 10000);
        if (p == nullptr) _exit(1);
        memset(p, 0xdd, 10000);
      }
      arenas::reset(*arena);
      arenas::destroy(*arena);
      _exit(testing::Test::HasFailure() ? 2 : 0);
    }
    EXPECT_EQ(status_of(child), 0);
    expect_contents(blocks, 10000);
    for (unsigned char* p : blocks) acre_free(p);
    expect_contents(fill_up(arena, 10000, 3000), 10000);
    arenas::destroy(*arena);
  }
}

// Blocks in a file that is mapped shared, and a process that forks.
class ForkOfSharedFile : public testing::Test {
 protected:
  ~ForkOfSharedFile() override { arenas::destroy(*arena); }

  void write_all_blocks() const {
    for (unsigned char* p : blocks) memset(p, 0xee, 10000);
  }

  Folder folder;
  ManualArena* arena = Maker(folder.c_str()).make();
  const std::vector<unsigned char*> blocks = fill_up(arena, 10000, 1000);
};

TEST_F(ForkOfSharedFile, AParentThatGoesOnChangesNothingInItsChild) {
  int descriptors[2];
  ASSERT_EQ(pipe(descriptors), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go;
    close(descriptors[1]);
    EXPECT_EQ(read(descriptors[0], &go, 1), 1);  // when the parent has written
    expect_contents(blocks, 10000);
    _exit(testing::Test::HasFailure() ? 2 : 0);
  }
  write_all_blocks();
  EXPECT_EQ(write(descriptors[1], "x", 1), 1);
  close(descriptors[0]);
  close(descriptors[1]);
  EXPECT_EQ(status_of(child), 0);
}

// What stops it may be a debugger. If the parent waited, so would each of its threads that needs a lock of acre's.
TEST_F(ForkOfSharedFile, AChildThatIsStoppedIsNotWaitedFor) {
  g_first_in_child = [] {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    raise(SIGSTOP);
  };
  alarm(5);  // seconds. It would be waited for twice as long
  const pid_t child = fork();
  if (child == 0) {
    expect_contents(blocks, 10000);
    void* p = allocate(arena, 10000);
    EXPECT_NE(p, nullptr);
    acre_free(p);
    _exit(testing::Test::HasFailure() ? 2 : 0);
  }
  alarm(0);
  g_first_in_child = nullptr;
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, WUNTRACED), child);
  EXPECT_TRUE(WIFSTOPPED(status)) << status;
  write_all_blocks();
  EXPECT_EQ(kill(child, SIGCONT), 0);
  EXPECT_EQ(status_of(child), 0);
}

TEST_F(ForkOfSharedFile, AChildWhoseParentDiesInTheForkHasAllToo) {
  int descriptors[2];
  ASSERT_EQ(pipe(descriptors), 0);
  const pid_t parent = fork();
  if (parent == 0) {
    // Its arena is as it was, and it makes one more.
    ManualArena* own = Maker(folder.c_str()).make();
    const auto own_blocks = fill_up(own, 10000, 1000);
    g_first_in_parent = [] { _exit(0); };
    if (fork() != 0) _exit(1);
    alarm(5);  // what it waited for would never come
    expect_contents(blocks, 10000);
    expect_contents(own_blocks, 10000);
    for (unsigned char* p : own_blocks) acre_free(p);
    const char result = testing::Test::HasFailure() ? 'n' : 'y';
    _exit(write(descriptors[1], &result, 1) == 1 ? 0 : 1);
  }
  EXPECT_EQ(status_of(parent), 0);
  close(descriptors[1]);
  char result = 0;
  EXPECT_EQ(read(descriptors[0], &result, 1), 1);
  EXPECT_EQ(result, 'y');
  close(descriptors[0]);
}

TEST_F(ForkOfSharedFile, AChildsOwnChildHasWhatTheChildHas) {
  const pid_t child = fork();
  if (child == 0) {
    write_all_blocks();
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      for (unsigned char* p : blocks) EXPECT_TRUE(std::all_of(p, p + 10000, [](unsigned char c) { return c == 0xee; }));
      _exit(testing::Test::HasFailure() ? 2 : 0);
    }
    _exit(status_of(grandchild) == 0 ? 0 : 3);
  }
  EXPECT_EQ(status_of(child), 0);
  expect_contents(blocks, 10000);
}

TEST_F(ForkOfSharedFile, AForkThatFailsIsNotWaitedFor) {
  const pid_t child = fork();
  if (child == 0) {
    if (setuid(65534) != 0) _exit(77);
    const rlimit none = {0, 0};
    setrlimit(RLIMIT_NPROC, &none);
    alarm(5);
    _exit(fork() == -1 ? 0 : 1);
  }
  const int status = status_of(child);
  EXPECT_TRUE(status == 0 || WEXITSTATUS(status) == 77) << status;
  expect_contents(blocks, 10000);
}

}  // namespace
}  // namespace acre
