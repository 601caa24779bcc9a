// The program of core.h, with each request that acre makes of the kernel refused in turn: alone, in a burst, from there
// on, and each kind of request always, where addresses are as usual or in no order, and where pages are of 64 KiB.
// Afterwards nothing may be lost, and all has to work again.
//
// About 50 requests are tried, spread over all. ACRE_EVERY_REQUEST=1: every one, three ways each.
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "../unit/support.h"
#include "acre/acre.h"
#include "child.h"
#include "core.h"
#include "kernel.h"
#include "pages/huge.h"

namespace acre::fake_os {
namespace {

using kernel::Bug;
using kernel::Kind;
using kernel::Layout;

struct Fault {
  uint64_t first = 0, count = 0;
  unsigned kinds = kernel::kAllKinds;
};

// Of all that was mapped, the bytes of which acre knows nothing.
int64_t unaccounted_bytes() {
  return kernel::mapped_bytes() - static_cast<int64_t>(window::mapped_bytes() + bytes_of_own_structures() +
                                                       huge::counts().bytes);
}

size_t unpurged_pages() {
  size_t pages = 0;
  for (unsigned i = 0; i < arenas::count(); ++i) {
    const PageCounts counts = arenas::at(i)->pages.counts();
    pages += counts.dirty + counts.muzzy;
  }
  return pages;
}

void purge_everything() {
  acre_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0);
  FAKE_OS_CHECK(unpurged_pages() == 0);
}

struct Rest {
  size_t mapped, resident;
  int64_t unaccounted;
};
// Runs the program until it needs nothing new, and says what is mapped and resident then.
Rest come_to_rest() {
  size_t before = 0;
  for (int round = 0; before != mapped_bytes(); ++round) {
    FAKE_OS_CHECK(round < 6);
    before = mapped_bytes();
    run_to_the_end(kWholeCore, true);
  }
  purge_everything();
  const size_t resident = os::resident_bytes() / os::page_bytes() * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return {mapped_bytes(), resident, unaccounted_bytes()};
}

// Of a process where nothing was refused.
Rest g_usual;

void suffer(const Fault& fault) {
  kernel::refuse(fault.first, fault.count, fault.kinds);
  run_to_the_end(kWholeCore, false);
  kernel::refuse_nothing();
  const Rest rest = come_to_rest();
  const size_t more_resident = kernel::is_emulated() ? 32 * kMiB : 4 * kMiB;
  const bool lost = rest.unaccounted != g_usual.unaccounted || rest.mapped > g_usual.mapped + 128 * kMiB ||
                    rest.resident > g_usual.resident + more_resident;
  if (lost) {
    fprintf(stderr, "mapped %zu, usually %zu; resident %zu, usually %zu; unaccounted for %ld, usually %ld\n",
            rest.mapped, g_usual.mapped, rest.resident, g_usual.resident, static_cast<long>(rest.unaccounted),
            static_cast<long>(g_usual.unaccounted));
  }
  FAKE_OS_CHECK(!lost);
}

// In a child, so that each begins with what this process is. False: it failed, and has said why.
bool survives(const std::function<void()>& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    body();
    _exit(0);
  }
  int status = 0;
  FAKE_OS_CHECK(waitpid(child, &status, 0) == child);
  return status == 0;
}

bool survives(const char* what, const Fault& fault) {
  if (survives([&] { suffer(fault); })) return true;
  fprintf(stderr, "%s: of kinds %#x requests %lu to %lu refused\n", what, fault.kinds,
          static_cast<unsigned long>(fault.first), static_cast<unsigned long>(fault.first + fault.count));
  return false;
}

// Under AddressSanitizer a fork takes ten times as long.
#if defined(__SANITIZE_ADDRESS__)
#define ACRE_TESTS_UNDER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ACRE_TESTS_UNDER_ASAN 1
#endif
#endif
#if defined(ACRE_TESTS_UNDER_ASAN)
constexpr uint64_t kSample = 4;
#else
constexpr uint64_t kSample = 16;
#endif
constexpr uint64_t kAll = uint64_t{1} << 40;

// How many requests the program makes in a process that has made none.
uint64_t count_requests() {
  int numbers[2];
  FAKE_OS_CHECK(pipe(numbers) == 0);
  FAKE_OS_CHECK(survives([&] {
    kernel::refuse_nothing();
    run_to_the_end(kWholeCore, true);
    const uint64_t requests = kernel::requests();
    g_usual = come_to_rest();
    FAKE_OS_CHECK(write(numbers[1], &requests, sizeof requests) == sizeof requests);
    FAKE_OS_CHECK(write(numbers[1], &g_usual, sizeof g_usual) == sizeof g_usual);
  }));
  uint64_t requests = 0;
  FAKE_OS_CHECK(read(numbers[0], &requests, sizeof requests) == sizeof requests);
  FAKE_OS_CHECK(read(numbers[0], &g_usual, sizeof g_usual) == sizeof g_usual);
  return requests;
}

// In a new image, by the layout's number. Some faults of each kind, if not every one.
[[noreturn]] void refuse_each_request(Layout layout) {
  kernel::begin(layout);
  kernel::stop_clock();
  const size_t window = window::bytes();
  FAKE_OS_CHECK(window != 0 || layout == Layout::kScattered);
  FAKE_OS_CHECK(window > size_t{6} << 40 || layout != Layout::kManyTebibytes);
  const uint64_t requests = count_requests();
  const uint64_t faults = getenv("ACRE_EVERY_REQUEST") != nullptr ? requests : kSample;
  FAKE_OS_CHECK(requests > 100);
  bool all = true;
  for (uint64_t i = 0; i < faults; ++i) {
    // Each way at other places.
    const auto at = [&](uint64_t third) { return (3 * i + third) * requests / (3 * faults); };
    all &= survives("alone", {at(0), 1});
    all &= survives("a burst", {at(1), 2 + i % 30});
    all &= survives("from there on", {at(2), kAll});
  }
  for (unsigned kind = 0; kind < static_cast<unsigned>(Kind::kCount); ++kind) {
    all &= survives(kernel::name_of(static_cast<Kind>(kind)), {0, kAll, 1u << kind});
  }
  FAKE_OS_CHECK(kernel::misaligned() == 0);
  _exit(all ? 0 : 1);
}

// In a new image. Ends with 0 if the bug was found: by a check, or by a crash.
[[noreturn]] void look_for(Bug bug) {
  kernel::begin(Layout::kOrdinary);
  kernel::stop_clock();
  count_requests();
  const uint64_t refused = bug == Bug::kChangesErrno ? kAll : 0;
  const bool found = !survives([&] {
    kernel::plant(bug);
    suffer({0, refused, bit_of(Kind::kAdvise) | bit_of(Kind::kFact)});  // which no request of the program's fails for
  });
  _exit(found ? 0 : 1);
}

bool ends_by_a_fault(volatile char* at) {
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGSEGV, SIG_DFL);
    *at = 1;
    _exit(0);
  }
  int status = 0;
  FAKE_OS_CHECK(waitpid(child, &status, 0) == child);
  return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

size_t count_mappings() {
  size_t lines = 0;
  FILE* file = fopen("/proc/self/maps", "r");
  for (int c; (c = getc(file)) != EOF;) lines += c == '\n';
  fclose(file);
  return lines;
}

// In a new image, in the hardened mode. A kernel without guard regions, or one that says it has them: guards are mappings,
// and not too many.
[[noreturn]] void guard_by_mappings(bool pretends) {
  constexpr size_t kBlocks = 6000, kBytes = 10 * kPageBytes;
  static char* blocks[kBlocks];
  kernel::begin(Layout::kOrdinary);
  if (pretends) kernel::pretend_to_guard();
  if (!pretends) kernel::refuse(0, kAll, kernel::bit_of(Kind::kAdvise));
  acre_free(acre_malloc(kBytes));  // which asks the kernel
  FAKE_OS_CHECK(pretends || kernel::has_refused());
  kernel::refuse_nothing();
  const size_t before = count_mappings();
  for (char*& block : blocks) *(block = static_cast<char*>(acre_malloc(kBytes))) = 1;
  FAKE_OS_CHECK(ends_by_a_fault(blocks[0] + kBytes) && ends_by_a_fault(blocks[0] - 1));
  const size_t guarded = count_mappings() - before;
  FAKE_OS_CHECK(guarded > 2000 && guarded <= 65530 / 8);
  for (char* block : blocks) acre_free(block);
  for (char*& block : blocks) memset(block = static_cast<char*>(acre_malloc(kBytes)), 7, kBytes);
  for (char* block : blocks) acre_free(block);
  _exit(0);
}

// In a new image, with pages of 64 KiB, which the kernel moves and unmaps whole. Blocks end and begin within them.
[[noreturn]] void grow_beside_others() {
  constexpr size_t kBlocks = 12, kBytes = 5 * kMiB + 5 * kPageBytes;
  char* blocks[kBlocks];
  for (size_t i = 0; i < kBlocks; ++i) {
    memset(blocks[i] = static_cast<char*>(acre_malloc(kBytes)), static_cast<int>(i + 1), kBytes);
  }
  for (size_t i = 0; i < kBlocks; ++i) {
    blocks[i] = static_cast<char*>(acre_realloc(blocks[i], i % 2 == 0 ? 2 * kBytes : 100 * kMiB));
    for (size_t j = 0; j < kBlocks; ++j) {
      for (size_t at = 0; at < kBytes; at += 512) FAKE_OS_CHECK(blocks[j][at] == static_cast<char>(j + 1));
    }
  }
  FAKE_OS_CHECK(kernel::misaligned() == 0);
  _exit(0);
}

}  // namespace

void run_whole_core(const std::string& argument) {
  if (argument == "grow") grow_beside_others();
  if (argument == "guards" || argument == "pretended") guard_by_mappings(argument == "pretended");
  const unsigned number = static_cast<unsigned>(argument[1] - '0');
  if (argument[0] == 'b') look_for(static_cast<Bug>(number));
  refuse_each_request(static_cast<Layout>(number));
}

namespace {

class WholeCore : public testing::TestWithParam<Layout> {};

std::string with_pages(const char* argument, Layout layout, const char* page_bytes) {
  setenv("ACRE_FAKE_OS_LAYOUT", std::to_string(static_cast<unsigned>(layout)).c_str(), 1);
  if (page_bytes != nullptr) setenv("ACRE_FAKE_OS_PAGE_BYTES", page_bytes, 1);
  const std::string ended = in_new_image("whole_core", argument, "0,0", "");
  unsetenv("ACRE_FAKE_OS_LAYOUT");
  unsetenv("ACRE_FAKE_OS_PAGE_BYTES");
  return ended;
}

TEST_P(WholeCore, EachRequestRefused) {
  const Layout layout = GetParam();
  const char* const page_bytes = layout == Layout::kLargePages ? "65536" : layout == Layout::kMiddlePages ? "16384" : nullptr;
  const std::string number = std::to_string(static_cast<unsigned>(layout));
  EXPECT_EQ(with_pages(("l" + number).c_str(), layout, page_bytes), "");
}

TEST(WholeCoreLargePages, BlocksThatMoveLeaveTheirNeighboursAlone) {
  EXPECT_EQ(with_pages("grow", Layout::kLargePages, "65536"), "");
}

TEST(WholeCoreHardened, GuardsAreMappingsWithoutGuardRegions) {
  EXPECT_EQ(in_new_image("whole_core", "guards", "0,0", "hardened:true"), "");
}

TEST(WholeCoreHardened, GuardsAreMappingsWhereTheKernelPretendsToGuard) {
  EXPECT_EQ(in_new_image("whole_core", "pretended", "0,0", "hardened:true"), "");
}

TEST(WholeCoreHardened, EachRequestRefused) {
  EXPECT_EQ(in_new_image("whole_core", "l0", "0,0", "hardened:true"), "");
}

class Planted : public testing::TestWithParam<unsigned> {};

TEST_P(Planted, IsFound) { EXPECT_EQ(in_new_image("whole_core", "b" + std::to_string(GetParam()), "0,0", ""), ""); }

INSTANTIATE_TEST_SUITE_P(Bugs, Planted, testing::Range(1u, static_cast<unsigned>(Bug::kCount)));

std::string name_of_layout(const testing::TestParamInfo<Layout>& info) {
  constexpr const char* kNames[] = {"Ordinary", "Scattered", "LargePages", "MiddlePages", "ManyTebibytes"};
  return kNames[static_cast<unsigned>(info.param)];
}
INSTANTIATE_TEST_SUITE_P(Layouts, WholeCore,
                         testing::Values(Layout::kOrdinary, Layout::kScattered, Layout::kLargePages,
                                         Layout::kMiddlePages, Layout::kManyTebibytes),
                         name_of_layout);

}  // namespace
}  // namespace acre::fake_os
