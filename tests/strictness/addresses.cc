// Addresses that can be told in advance: the kind starts itself many times, and compares.
#include <spawn.h>
#include <sys/wait.h>

#include "kinds.h"

namespace {

constexpr int kStarts = 64, kLeastDifferent = 56;
constexpr const char* kChild = "child";

// What is compared: the address of the second block, its distance from other memory, or distances between blocks.
enum What { kAddress, kFromLibrary, kFromProgram, kFromStack, kOrder };

uint64_t look(What what, size_t size) {
  take(size);
  const auto block = reinterpret_cast<uintptr_t>(take(size));
  switch (what) {
    case kAddress: return block;
    case kFromLibrary: return block - reinterpret_cast<uintptr_t>(&memcpy);
    case kFromProgram: return block - reinterpret_cast<uintptr_t>(&fill);
    case kFromStack: return block - reinterpret_cast<uintptr_t>(&what);
    case kOrder: break;
  }
  uint64_t sum = 0;
  for (int i = 0; i < 16; ++i) sum = sum * 1000003 + (reinterpret_cast<uintptr_t>(take(size)) - block);
  return sum;
}

// The start of this kind with the place "child", which writes what it saw to standard output.
uint64_t look_in_child(const char* name) {
  int ends[2];
  if (pipe(ends) != 0) _exit(2);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  char* arguments[] = {program_invocation_name, const_cast<char*>(name), const_cast<char*>(kChild), nullptr};
  pid_t child;
  if (posix_spawn(&child, "/proc/self/exe", &actions, nullptr, arguments, environ) != 0) _exit(2);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  uint64_t seen;
  if (read(ends[0], &seen, sizeof seen) != sizeof seen) _exit(2);
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return seen;
}

// Told in advance, if fewer than 56 of 64 starts differ. With a base of 20 random bits two are equal
// in one of 500 runs, nine never.
Outcome compare(const Case& given) {
  const auto what = static_cast<What>(given.distance);
  if (strcmp(given.place, kChild) == 0) {
    const uint64_t seen = look(what, given.size);
    _exit(write(STDOUT_FILENO, &seen, sizeof seen) == sizeof seen ? 0 : 2);
  }
  begin();
  uint64_t seen[kStarts];
  int different = 0;
  for (int i = 0; i < kStarts; ++i) {
    seen[i] = look_in_child(given.name);
    bool again = false;
    for (int k = 0; k < i; ++k) again |= seen[k] == seen[i];
    if (!again) ++different;
  }
  done();
  return different < kLeastDifferent ? kPasses : kNoEffect;
}

const Registration registration([] {
  constexpr const char* group = "addresses";
  for (size_t size : {size_t{8}, 256 * kKib}) {
    add("same_address_%s", group, "blocks of %s have the same addresses in each start", compare, kPlain, size,
        kAddress);
    add("same_distance_to_libc_%s", group, "blocks of %s are as far from the C library in each start", compare, kPlain,
        size, kFromLibrary);
    add("same_distance_to_program_%s", group, "blocks of %s are as far from the program in each start", compare, kPlain,
        size, kFromProgram);
    add("same_distance_to_stack_%s", group, "blocks of %s are as far from the stack in each start", compare, kPlain,
        size, kFromStack);
    add("same_order_%s", group, "blocks of %s have the same order in each start", compare, kPlain, size, kOrder);
  }
});

}  // namespace
