#include "core.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "../unit/support.h"
#include "acre/acre.h"
#include "acre/heap.h"
#include "acre/jemalloc.h"
#include "acre/tags.h"
#include "kernel.h"
#include "sample/profile.h"

namespace acre::fake_os {

namespace {

constexpr size_t kKilo = size_t{1} << 10;

int act(const char* name) { return acre_mallctl(name, nullptr, nullptr, nullptr, 0); }

template <class T>
bool read_figure(const char* name, T* value) {
  size_t size = sizeof *value;
  const int error = acre_mallctl(name, value, &size, nullptr, 0);
  FAKE_OS_CHECK(error == 0 || error == EAGAIN);
  return error == 0;
}

void blocks_of_all_sizes(Blocks& blocks) {
  for (size_t size = 1; size <= 32 * kKilo; size += size / 3 + 1) {
    for (int i = 0; i < 4; ++i) blocks.allocate(size);
  }
  for (size_t size = 40 * kKilo; size < 3 * kMiB; size *= 2) {
    blocks.allocate(size);
    blocks.allocate_zeroed(size);
    blocks.allocate_aligned(16 * kKilo, size);
  }
  for (size_t i = 0; i < blocks.count(); i += 2) blocks.free(i);
  blocks.allocate(66 * kMiB);
  blocks.allocate_aligned(4 * kMiB, 300 * kKilo);
}

void one_that_grows(Blocks& blocks) {
  if (blocks.allocate(30) == nullptr) return;
  const size_t index = blocks.count() - 1;
  for (size_t size = 100; size < 140 * kMiB; size *= 5) blocks.resize(index, size);
  for (size_t size : {100 * kMiB, 3 * kMiB, 60 * kKilo, 100 + kKilo}) blocks.resize(index, size);
}

void one_thread(Blocks& blocks) {
  Blocks theirs;
  std::thread([&] {
    for (size_t size = 16; size < 100 * kKilo; size *= 3) {
      for (int i = 0; i < 5; ++i) theirs.allocate(size);
    }
  }).join();
  for (size_t i = 0; i < theirs.count(); i += 2) theirs.free(i);
  blocks.take(theirs);
}

void an_arena(Blocks& blocks) {
  unsigned arena = 0;
  size_t size = sizeof arena;
  const int error = acre_mallctl("arenas.create", &arena, &size, nullptr, 0);
  FAKE_OS_CHECK(error == 0 || error == EAGAIN || error == ENOMEM);
  if (error != 0) return;
  const size_t first = blocks.count();
  for (size_t bytes = 20; bytes < 2 * kMiB; bytes *= 9) {
    blocks.allocate_with(bytes, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE | MALLOCX_ZERO);
  }
  while (blocks.count() > first) blocks.free(blocks.count() - 1);
  char name[40];
  snprintf(name, sizeof name, "arena.%u.destroy", arena);
  FAKE_OS_CHECK(act(name) == 0);
}

void a_heap(const char* file) {
  acre_heap_settings settings = {};
  settings.file = file;
  acre_heap_t* heap = acre_heap_create(&settings);
  if (heap == nullptr) return;
  for (int round = 0; round < 2; ++round) {
    for (size_t size = 24; size < 200 * kKilo; size *= 7) {
      void* block = acre_heap_malloc(heap, size);
      FAKE_OS_CHECK(block != nullptr || errno == ENOMEM);
      if (block != nullptr) memset(block, 1, size);
    }
    acre_heap_reset(heap);
  }
  acre_heap_destroy(heap);
}

void a_tag(Blocks& blocks) {
  const int error = acre_tag_push("request");
  FAKE_OS_CHECK(error == 0 || error == ENOMEM || error == ENOTSUP);
  for (size_t size = 50; size < 100 * kKilo; size *= 6) blocks.allocate(size);
  const int popped = acre_tag_pop();
  FAKE_OS_CHECK(popped == 0 || error != 0);
}

// A profile in a file is whole, or there is none: neither under its name nor under another.
void a_profile() {
  char folder[] = "/tmp/acre-fake-os-XXXXXX";
  FAKE_OS_CHECK(mkdtemp(folder) != nullptr);
  const std::string path = std::string(folder) + "/heap.pb.gz";
  const char* name = path.c_str();
  const int error = acre_mallctl("prof.dump", nullptr, nullptr, &name, sizeof name);
  if (error == 0) {
    struct stat status;
    FAKE_OS_CHECK(stat(name, &status) == 0 && status.st_size > 100);
    FAKE_OS_CHECK(unlink(name) == 0);
  }
  if (rmdir(folder) != 0) {  // the name of what is left, and that unlink is refused nobody
    const std::string command = "ls " + std::string(folder) + " >&2; rm -r " + folder;
    FAKE_OS_CHECK(system(command.c_str()) == 0);
    FAKE_OS_CHECK(!"a failed dump leaves nothing");
  }
}

void statistics() {
  std::string text;
  const int error = acre_stats_print(
      "json", [](void* to, const char* part) { *static_cast<std::string*>(to) += part; }, &text);
  FAKE_OS_CHECK(error == EAGAIN ? text.empty() : error == 0 && text.size() > 1000 && text.rfind("}") > text.size() - 3);
  if (acre_mallctl("epoch", nullptr, nullptr, nullptr, 0) != 0) return;
  size_t allocated, active, resident, mapped;
  if (!read_figure("stats.allocated", &allocated) || !read_figure("stats.active", &active)) return;
  if (!read_figure("stats.resident", &resident) || !read_figure("stats.mapped", &mapped)) return;
  FAKE_OS_CHECK(allocated <= active && active <= resident && resident <= mapped);
}

void a_child() {
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) {
    Blocks blocks;
    for (size_t size = 10; size < 300 * kKilo; size *= 5) blocks.allocate(size);
    blocks.check_all();
    blocks.free_all();
    _exit(7);
  }
  int status = 0;
  FAKE_OS_CHECK(waitpid(child, &status, 0) == child);
  FAKE_OS_CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
}

void time_passes(Blocks& blocks) {
  for (size_t i = 0; i < blocks.count(); i += 3) blocks.free(i);
  for (int i = 0; i < 4; ++i) {
    kernel::move_clock(4000);
    FAKE_OS_CHECK(act("arena.4096.decay") == 0);
    blocks.allocate(3000);
  }
  acre_malloc_trim(0);
  FAKE_OS_CHECK(act("arena.4096.purge") == 0);
}

void use_the_whole_core(Blocks& blocks) {
  if (!profile::is_prepared() && profile::prepare(256 * kKilo)) profile::set_active(true);
  blocks_of_all_sizes(blocks);
  one_that_grows(blocks);
  one_thread(blocks);
  an_arena(blocks);
  a_heap(nullptr);
  a_heap("/tmp");
  a_tag(blocks);
  blocks.check_all();
  a_profile();
  statistics();
  a_child();
  time_passes(blocks);
  blocks.check_all();
}

}  // namespace

const Script kWholeCore = {"whole_core", use_the_whole_core, false};

}  // namespace acre::fake_os
