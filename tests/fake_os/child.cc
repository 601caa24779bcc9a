#include "child.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../unit/support.h"
#include "cache/registry.h"
#include "kernel.h"
#include "observe/fill.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "sample/profile.h"
#include "scripts.h"
#include "slab/unit_table.h"
#include "tables/size_class.h"

namespace acre::fake_os {

namespace {

constexpr char kBody[] = "ACRE_FAKE_OS_BODY";
constexpr char kArgument[] = "ACRE_FAKE_OS_ARGUMENT";
constexpr char kRefuse[] = "ACRE_FAKE_OS_REFUSE";  // "allowed,refused"
constexpr char kLayout[] = "ACRE_FAKE_OS_LAYOUT";  // of the kernel from the start on, a number
constexpr char kAnswer[] = "ACRE_FAKE_OS_ANSWER";  // a descriptor

int g_answer_fd = -1;

// Before acre's own constructor, which makes the first requests. gcc warns of priorities up to 100; clang does
// not know the warning.
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
__attribute__((constructor(90))) void begin_before_acre() {
  if (const char* layout = getenv(kLayout)) kernel::begin(static_cast<kernel::Layout>(atoi(layout)));
  const char* text = getenv(kRefuse);
  if (text == nullptr) return;
  char* comma = nullptr;
  const long allowed = strtol(text, &comma, 10);
  os::testing::refuse_requests(allowed, strtol(comma + 1, nullptr, 10));
}

std::string read_all(int fd) {
  std::string text;
  char part[4096];
  for (ssize_t size; (size = read(fd, part, sizeof part)) > 0;) text.append(part, static_cast<size_t>(size));
  close(fd);
  return text;
}

std::string how_it_ended(int status, const std::string& said) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return "";
  if (WIFSIGNALED(status)) return "signal " + std::to_string(WTERMSIG(status)) + "\n" + said;
  return "status " + std::to_string(WEXITSTATUS(status)) + "\n" + said;
}

template <class Start>
std::string run_child(Start start, long* answer) {
  int output[2], answers[2];
  if (pipe(output) != 0 || pipe(answers) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], 2);
    close(output[0]);
    close(output[1]);
    close(answers[0]);
    g_answer_fd = answers[1];
    alarm(getenv("ACRE_EVERY_REQUEST") != nullptr ? 3600 : 120);
    start();
    _exit(0);
  }
  close(output[1]);
  close(answers[1]);
  const std::string said = read_all(output[0]);
  const std::string numbers = read_all(answers[0]);
  if (answer != nullptr) *answer = atol(numbers.c_str());
  int status = 0;
  waitpid(child, &status, 0);
  return how_it_ended(status, said);
}

size_t used_pages() {
  size_t pages = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) pages += arenas::at(i)->pages.counts().used;
  return pages;
}

void expect_pages_add_up() {
  for (unsigned i = 0; i < arenas::count(); ++i) {
    PageHeap& pages = arenas::at(i)->pages;
    bool add_up = test::pages_add_up(pages.counts());
    for (int tries = 0; !add_up && tries < 1000; ++tries) {  // the background thread may be returning some
      pages.wait_for_purge();
      add_up = test::pages_add_up(pages.counts());
    }
    FAKE_OS_CHECK(add_up);
  }
}

// Of each class of which blocks were sampled an empty run may stay.
size_t pages_kept_for_samples() {
  size_t pages = 0;
  for (SizeClass c = 0; profile::is_prepared() && c < kSmallClasses; ++c) pages += run_shape(c).pages;
  return pages;
}

// In the hardened mode the arena of a class begins with a guard.
size_t pages_kept_by_hardened_mode() {
  size_t pages = 0;
  for (unsigned i = 0; hardened::is_on() && i < arenas::count(); ++i) pages += arenas::at(i)->is_of_class ? kRunUnitPages : 0;
  return pages;
}

// The heaps that threads share, and those bound to an arena: nobody uses one now. Returns how many there are.
unsigned empty_shared_heaps() {
  unsigned count = 0;
  const auto visit = [](Heap& heap, void* argument) {
    if (heap.token != address_of(&heap)) return;
    empty_heap(heap);
    ++*static_cast<unsigned*>(argument);
  };
  registry::for_each(visit, &count);
  return count;
}

// After everything was freed: nothing is in use, and nobody holds anything. may_be_refused: in the hardened mode runs whose
// guards the kernel refuses to make usable again are in use until it does.
void expect_nothing_in_use(bool may_be_refused) {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  const unsigned shared = empty_shared_heaps();
  if (hardened::is_on()) hardened::give_back_retired();
  expect_pages_add_up();
  FAKE_OS_CHECK((may_be_refused && hardened::is_on()) || used_pages() <= pages_kept_for_samples() + pages_kept_by_hardened_mode());
  FAKE_OS_CHECK(huge::counts().blocks == 0);
  FAKE_OS_CHECK(huge::counts().bytes == 0);
  FAKE_OS_CHECK(registry::live_heaps() <= 1 + shared);
}

}  // namespace

void run_to_the_end(const Script& script, bool must_succeed) {
  Blocks blocks;
  script.run(blocks);
  blocks.check_all();
  expect_pages_add_up();
  FAKE_OS_CHECK(!must_succeed || blocks.refused() == 0);
  blocks.free_all();
  expect_nothing_in_use(!must_succeed);
}

size_t mapped_bytes() { return window::mapped_bytes() + metadata::mapped_bytes(); }

std::string in_child(const std::function<void()>& body, long* answer) { return run_child(body, answer); }

size_t bytes_of_own_structures() {
  size_t sum = 0;
  const auto add = [](Address, size_t bytes, void* to) {
    *static_cast<size_t*>(to) += align_up(bytes, os::page_bytes()) + 2 * os::page_bytes();
  };
  metadata::for_each_region(add, &sum);
  g_page_map.for_each_leaf([&](Address start, size_t bytes) { add(start, bytes, &sum); });
  return sum;
}

void answer_with(long number) {
  const std::string text = std::to_string(number);
  FAKE_OS_CHECK(write(g_answer_fd, text.data(), text.size()) > 0);
}

// The emulator's words, if there is one, and this program.
void start_again() {
  char program[4096] = {};
  if (readlink("/proc/self/exe", program, sizeof program - 1) <= 0) return;
  std::vector<char*> words;
  static std::string emulator;
  if (const char* given = getenv("ACRE_EMULATOR")) emulator = given;
  for (char* word = strtok(emulator.data(), " "); word != nullptr; word = strtok(nullptr, " ")) words.push_back(word);
  words.push_back(program);
  words.push_back(nullptr);
  execvp(words.front(), words.data());
}

std::string in_new_image(const char* body, const std::string& argument, const std::string& refuse,
                         const std::string& conf, long* requests) {
  return run_child(
      [&] {
        setenv(kBody, body, 1);
        setenv(kArgument, argument.c_str(), 1);
        setenv(kRefuse, refuse.c_str(), 1);
        setenv("ACRE_CONF", conf.c_str(), 1);
        setenv(kAnswer, std::to_string(g_answer_fd).c_str(), 1);
        start_again();
        _exit(3);
      },
      requests);
}

void use_up_metadata() {
  os::testing::refuse_requests(0, kFromThereOn);
  while (metadata::allocate(kPageBytes) != nullptr) {
  }
  while (metadata::allocate(1) != nullptr) {
  }
}

void survive(const Script& script) {
  run_to_the_end(script, false);
  os::testing::refuse_nothing();
  run_to_the_end(script, true);
  if (script.threads) return;
  // It has all it needs now: what is lost would have to be mapped again each time.
  size_t mapped = 0;
  for (int round = 0; mapped != mapped_bytes(); ++round) {
    FAKE_OS_CHECK(round < 5);
    mapped = mapped_bytes();
    run_to_the_end(script, true);
  }
}

void run_body_if_image() {
  const char* body = getenv(kBody);
  if (body == nullptr) return;
  if (strcmp(body, "whole_core") == 0) run_whole_core(getenv(kArgument));
  const size_t index = strtoul(getenv(kArgument), nullptr, 10);
  if (strcmp(body, "survive") == 0) {
    survive(kScripts[index]);
    _exit(0);
  }
  if (strcmp(body, "succeed") == 0) {
    run_to_the_end(kScripts[index], true);
    g_answer_fd = atoi(getenv(kAnswer));
    answer_with(os::testing::requests_made());
    _exit(0);
  }
  _exit(4);
}

}  // namespace acre::fake_os
