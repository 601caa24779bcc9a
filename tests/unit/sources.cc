// pages/source, pages/file_source: memory from files and devices.
#include "pages/source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "acre/acre.h"
#include "base/text.h"
#include "control/print.h"
#include "manual/manual_arena.h"
#include "pages/limit.h"
#include "pages/page_map.h"
#include "sources_support.h"
#include "tables/options.h"

namespace acre {
namespace {

// Whether the page is mapped from a file with this text in its path, by /proc/self/maps.
bool is_mapped_from(const void* p, const char* text) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long from, to;
    if (sscanf(line.c_str(), "%lx-%lx", &from, &to) == 2 && address_of(p) - from < to - from) {
      return line.find(text) != std::string::npos;
    }
  }
  return false;
}

// The lines of the summary about what acre was refused.
std::string constraints() {
  Line<2048> text;
  add_constraints(text);
  return text.c_str();
}

TEST(FileSources, BlocksLieInAFileWithoutAName) {
  Folder folder;
  ManualArena* arena = Maker(folder.c_str()).make();
  ASSERT_NE(arena, nullptr);
  EXPECT_EQ(folder.names(), 0u);
  for (size_t n : {size_t{100}, size_t{5000}, size_t{300000}, 100 * kMiB}) {
    void* p = allocate(arena, n, true);
    ASSERT_NE(p, nullptr);
    EXPECT_TRUE(is_mapped_from(p, folder.c_str())) << n;
    EXPECT_TRUE(test::all_zero(p, n));
    memset(p, 1, n);
    acre_free(p);
    p = allocate(arena, n, true);
    EXPECT_TRUE(test::all_zero(p, n)) << "the second time";
  }
  EXPECT_FALSE(is_mapped_from(acre_malloc(100), folder.c_str()));
  arenas::destroy(*arena);
}

TEST(FileSources, ReallocKeepsContentsAndPlace) {
  Folder folder;
  ManualArena* arena = Maker(folder.c_str()).make();
  auto* p = static_cast<unsigned char*>(allocate(arena, 1000));
  memset(p, 9, 1000);
  for (size_t n : {5000 * size_t{10}, 5 * kMiB, 20 * kMiB, 70 * kMiB, 90 * kMiB, 66 * kMiB, kMiB, size_t{1000}}) {
    p = static_cast<unsigned char*>(acre_realloc(p, n));
    ASSERT_NE(p, nullptr) << n;
    EXPECT_TRUE(is_mapped_from(p, folder.c_str())) << n;
    EXPECT_EQ(std::count(p, p + 1000, 9), 1000);
  }
  arenas::destroy(*arena);
}

TEST(FileSources, ANamedFileIsMadeAndHasToBeEmpty) {
  Folder folder;
  const std::string name = folder / "file";
  ManualArena* arena = Maker(name.c_str()).make();
  ASSERT_NE(arena, nullptr);
  EXPECT_TRUE(is_mapped_from(allocate(arena, 100), name.c_str()));
  EXPECT_EQ(Maker(name.c_str()).make(), nullptr) << "it has contents";
  arenas::destroy(*arena);
  EXPECT_EQ(Maker("/no/such/folder").make(), nullptr);
}

TEST(FileSources, ALimitRefusesOrFallsBack) {
  Folder folder;
  for (OnFailure on_failure : {OnFailure::kRefuse, OnFailure::kFallBack}) {
    Maker maker(folder.c_str());
    maker.file.end = 16 * kMiB;
    maker.on_failure = on_failure;
    ManualArena* arena = maker.make();
    const auto blocks = fill_up(arena, 100000, 64 * kMiB / 100000);
    if (on_failure == OnFailure::kRefuse) {
      EXPECT_LE(blocks.size() * 100000, 16 * kMiB);
      EXPECT_GE(blocks.size() * 100000, 15 * kMiB);
    } else {
      EXPECT_EQ(blocks.size(), 64 * kMiB / 100000);
      EXPECT_FALSE(is_mapped_from(blocks.back(), folder.c_str()));
    }
    EXPECT_TRUE(is_mapped_from(blocks.front(), folder.c_str()));
    EXPECT_NE(constraints().find("its limit is reached"), std::string::npos) << constraints();
    expect_contents(blocks, 100000);
    void* huge = allocate(arena, 80 * kMiB);
    EXPECT_EQ(huge == nullptr, on_failure == OnFailure::kRefuse);
    arenas::destroy(*arena);
  }
}

TEST(FileSourcesDeath, ALimitMayEndTheProgram) {
  Folder folder;
  Maker maker(folder.c_str());
  maker.file.end = 4 * kMiB;
  maker.on_failure = OnFailure::kAbort;
  ManualArena* arena = maker.make();
  EXPECT_DEATH(fill_up(arena, 100000), "gives no more memory");
  arenas::destroy(*arena);
}

// The working set is four times what the file system has.
TEST(FileSources, AFullTmpfsRefusesAndNothingIsLost) {
  Folder folder("tmpfs", "size=16m");
  if (folder.empty()) GTEST_SKIP() << "may not mount";
  for (size_t n : {size_t{1000}, size_t{100000}, 3 * kMiB}) {
    ManualArena* arena = Maker(folder.c_str()).make();
    const auto blocks = fill_up(arena, n);
    EXPECT_GE(blocks.size() * n, 12 * kMiB) << n;
    EXPECT_LE(blocks.size() * n, 16 * kMiB) << n;
    EXPECT_NE(constraints().find("no space is left in its file system"), std::string::npos) << constraints();
    expect_contents(blocks, n);
    for (unsigned char* p : blocks) acre_free(p);
    acre_malloc_trim(0);
    EXPECT_GE(fill_up(arena, n).size() * n, 12 * kMiB) << "pages of the file stay in it while it is the arena's";
    arenas::destroy(*arena);
    EXPECT_LE(folder.used(), kMiB) << "and go with the arena";
  }
}

TEST(FileSources, AWorkingSetOfFourTimesATmpfs) {
  Folder folder("tmpfs", "size=16m");
  if (folder.empty()) GTEST_SKIP() << "may not mount";
  Maker maker(folder.c_str());
  maker.on_failure = OnFailure::kFallBack;
  ManualArena* arena = maker.make();
  for (int round = 0; round < 3; ++round) {
    const auto blocks = fill_up(arena, 20000, 64 * kMiB / 20000);
    ASSERT_EQ(blocks.size(), 64 * kMiB / 20000);
    expect_contents(blocks, 20000);
    EXPECT_EQ(round != 0 || is_mapped_from(blocks.front(), folder.c_str()), true);
    if (round == 1) arenas::reset(*arena);
    if (round != 1) {
      for (unsigned char* p : blocks) acre_free(p);
    }
    acre_malloc_trim(0);
  }
  arenas::destroy(*arena);
  EXPECT_LE(folder.used(), kMiB);
}

TEST(FileSources, HugeBlocksGiveTheirSpaceBack) {
  Folder folder("tmpfs", "size=256m");
  if (folder.empty()) GTEST_SKIP() << "may not mount";
  ManualArena* arena = Maker(folder.c_str()).make();
  for (int round = 0; round < 5; ++round) {
    std::vector<void*> blocks;
    for (size_t n : {70 * kMiB, 90 * kMiB, 66 * kMiB}) {
      blocks.push_back(allocate(arena, n, true));
      ASSERT_NE(blocks.back(), nullptr) << "round " << round;
      EXPECT_TRUE(test::all_zero(blocks.back(), n));
      memset(blocks.back(), 0xff, n);
    }
    EXPECT_EQ(allocate(arena, 70 * kMiB), nullptr) << "only a refusal";
    const size_t order[] = {1, 0, 2};
    for (size_t i : order) acre_free(blocks[i]);
    EXPECT_LE(folder.used(), kMiB);
  }
  arenas::destroy(*arena);
}

TEST(FileSources, MappedPrivatelyNothingReachesTheFile) {
  Folder folder;
  const std::string name = folder / "file";
  Maker maker(name.c_str());
  maker.file.sharing = os::Sharing::kPrivate;
  ManualArena* arena = maker.make();
  const auto blocks = fill_up(arena, 100000, 20 * kMiB / 100000);
  EXPECT_EQ(blocks.size(), 20 * kMiB / 100000);
  EXPECT_TRUE(is_mapped_from(blocks.back(), name.c_str()));
  expect_contents(blocks, 100000);
  std::ifstream file(name);
  const std::string contents((std::istreambuf_iterator<char>(file)), {});
  EXPECT_GE(contents.size(), 20 * kMiB);
  EXPECT_EQ(contents.find_first_not_of('\0'), std::string::npos);
  for (unsigned char* p : blocks) acre_free(p);
  EXPECT_GT(arena->arena.pages.purge_to(0), 15 * kMiB / kPageBytes) << "they are purged like other pages";
  void* p = allocate(arena, 10 * kMiB, true);
  EXPECT_TRUE(test::all_zero(p, 10 * kMiB));
  arenas::destroy(*arena);
}

TEST(FileSources, AFullTmpfsRefusesWhatIsMappedPrivatelyToo) {
  Folder folder("tmpfs", "size=8m");
  if (folder.empty()) GTEST_SKIP() << "may not mount";
  Maker maker(folder.c_str());
  maker.file.sharing = os::Sharing::kPrivate;
  ManualArena* arena = maker.make();
  const auto blocks = fill_up(arena, 100000);
  EXPECT_LE(blocks.size() * 100000, 8 * kMiB);
  expect_contents(blocks, 100000);
  arenas::destroy(*arena);
}

TEST(FileSources, AClosedDescriptorIsARefusal) {
  Folder folder;
  Maker maker(folder.c_str());
  maker.on_failure = OnFailure::kFallBack;
  ManualArena* arena = maker.make();
  const auto before = fill_up(arena, 100000, 10);
  for (int fd = 100; fd < 300; ++fd) close(fd);
  const int other = open("/dev/null", O_RDWR);
  for (int fd = 100; fd < 300; ++fd) dup2(other, fd);
  const auto after = fill_up(arena, 100000, 1000);
  EXPECT_EQ(after.size(), 1000u);
  EXPECT_FALSE(is_mapped_from(after.back(), folder.c_str()));
  expect_contents(before, 100000);
  expect_contents(after, 100000);
  arenas::destroy(*arena);
  for (int fd = 100; fd < 300; ++fd) EXPECT_EQ(close(fd), 0) << "it is the program's";
  close(other);
}

TEST(FileSources, HugePagesOfAHugetlbfs) {
  Folder folder("hugetlbfs", "pagesize=2M");
  if (folder.empty()) GTEST_SKIP() << "may not mount";
  const std::string before = [] {
    std::string text;
    std::ifstream("/proc/sys/vm/nr_hugepages") >> text;
    return text;
  }();
  std::ofstream("/proc/sys/vm/nr_hugepages") << "16";
  size_t pages = 0;
  std::ifstream("/proc/sys/vm/nr_hugepages") >> pages;
  if (pages < 8) GTEST_SKIP() << "no huge pages can be had";
  for (os::Sharing sharing : {os::Sharing::kShared, os::Sharing::kPrivate}) {
    Maker maker(folder.c_str());
    maker.file.sharing = sharing;
    ManualArena* arena = maker.make();
    ASSERT_NE(arena, nullptr);
    for (int round = 0; round < 2; ++round) {
      const auto blocks = fill_up(arena, 50000);
      EXPECT_GE(blocks.size() * 50000, (pages - 3) * 2 * kMiB);
      EXPECT_LE(blocks.size() * 50000, pages * 2 * kMiB);
      expect_contents(blocks, 50000);
      for (unsigned char* p : blocks) acre_free(p);
      acre_malloc_trim(0);
      void* p = allocate(arena, 50000, true);
      EXPECT_TRUE(test::all_zero(p, 50000));
      arenas::reset(*arena);
    }
    arenas::destroy(*arena);
  }
  std::ofstream("/proc/sys/vm/nr_hugepages") << before;
}

// A file stands for a device with memory in it.
TEST(DeviceSources, AWindowOfTheDeviceAndNoMore) {
  Folder folder;
  const std::string name = folder / "file";
  {
    std::ofstream file(name);
    const std::string noise(kMiB, '\x77');
    for (int i = 0; i < 32; ++i) file << noise;
  }
  Maker maker(name.c_str());
  maker.file.kind = os::FileKind::kDevice;
  maker.file.start = 8 * kMiB;
  maker.file.end = 24 * kMiB;
  ManualArena* arena = maker.make();
  ASSERT_NE(arena, nullptr);
  void* zeroed = allocate(arena, 300000, true);
  EXPECT_TRUE(test::all_zero(zeroed, 300000)) << "what a device holds is not zero";
  const auto blocks = fill_up(arena, 100000);
  EXPECT_GE(blocks.size() * 100000, 15 * kMiB);
  EXPECT_LE(blocks.size() * 100000, 16 * kMiB);
  for (unsigned char* p : blocks) acre_free(p);
  acre_malloc_trim(0);
  EXPECT_GE(fill_up(arena, 100000).size() * 100000, 15 * kMiB);
  arenas::destroy(*arena);
  std::ifstream file(name);
  const std::string contents((std::istreambuf_iterator<char>(file)), {});
  ASSERT_EQ(contents.size(), 32 * kMiB);
  EXPECT_EQ(contents.find_first_not_of('\x77'), std::min(contents.find_first_not_of('\x77', 8 * kMiB), contents.size()));
  EXPECT_GE(contents.find_first_not_of('\x77'), 8 * kMiB) << "nothing before the start is touched";
  EXPECT_EQ(contents.find_first_not_of('\x77', 24 * kMiB), std::string::npos) << "nor behind the end";
}

TEST(DeviceSources, OneThatIsNotThere) {
  Maker maker("/no/such/device");
  maker.file.kind = os::FileKind::kDevice;
  EXPECT_EQ(maker.make(), nullptr);
}

}  // namespace
}  // namespace acre
