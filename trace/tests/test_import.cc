#include "build.h"
#include "check.h"
#include "import.h"
#include "order.h"
#include "placer.h"

namespace acre::trace::testing {
namespace {

struct Imported {
  int code;
  CheckResult check;
  std::vector<std::string> events;
};

Imported import_of(const Folder& folder, const std::string& text) {
  const std::string from = folder / "text", to = folder / "recording";
  write_bytes(from, {text.begin(), text.end()});
  Imported found;
  found.code = import({from, to});
  found.check = check_file(to);
  Reader reader;
  if (!reader.open(to)) return found;
  Order order(reader);
  const Clock clock(reader);
  Merged merged;
  while (order.next(merged)) {
    const Event& event = *merged.event;
    if (!is_of_block(event.what) && event.what != What::kMark) continue;
    char line[160];
    snprintf(line, sizeof line, "%.3f T%u %s/%d %llu %.*s", clock.seconds(event.ticks), merged.thread,
             name_of(event.what), static_cast<int>(event.kind), static_cast<unsigned long long>(event.size),
             static_cast<int>(event.text.size()), event.text.data());
    found.events.emplace_back(line);
  }
  return found;
}

TEST(Import, Text) {
  const Folder folder;
  const Imported found = import_of(folder,
                                   "# a comment\n"
                                   "0.500 T7 malloc 100 = 0x7f0000000000\n"
                                   "0.600 T8 calloc 3 8 = 0x7f0000008000\n"
                                   "0.700 T8 memalign 64 10 = 0x7f0000010000\r\n"
                                   "0.750 T7 mark half a minute (later)\n"
                                   "0.800 T7 realloc 0x7f0000008000 200 = 0x7f0000018000\n"
                                   "0.900 T8 realloc 0x7f0000018000 300 = 0x7f0000018000\n"
                                   "1.000 T8 malloc 5 = 0\n"
                                   "1.000 T8 free 0x7f0000000000\n"
                                   "1.100 T7 free 0x0");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  EXPECT_EQ(found.check.lanes, 2u);
  const std::vector<std::string> wanted = {"0.500 T7 allocate/0 100 ", "0.600 T8 allocate/1 24 ",
                                           "0.700 T8 allocate/2 10 ", "0.750 T7 mark/0 0 half a minute (later)",
                                           "0.800 T7 allocate/4 200 ", "0.800 T7 free/3 0 ",
                                           "0.900 T8 resize/0 300 ", "1.000 T8 free/0 0 "};
  EXPECT_EQ(found.events, wanted);
}

TEST(Import, AsLtraceWritesIt) {
  const Folder folder;
  const Imported found = import_of(folder,
                                   "[pid 12] prog->malloc(100)                 = 0x55d0c0\n"
                                   "[pid 13] calloc(2, 8)                      = 0x55d0e0\n"
                                   "[pid 12] realloc(0x55d0c0, 400)            = 0x55e000\n"
                                   "[pid 12] free(0x55e000)                    = <void>\n"
                                   "[pid 12] realloc(0, 400)                   = nil\n"
                                   "+++ exited (status 0) +++\n");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  EXPECT_EQ(found.check.allocations, 3u);
  EXPECT_EQ(found.check.frees, 2u);
}

TEST(Import, BlocksWithNamesArePlaced) {
  const Folder folder;
  const Imported found =
      import_of(folder, "malloc 100 = a\nmalloc 100 = b\nfree a\nrealloc b 5000 = b\nfree b\nfree c\n");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  EXPECT_EQ(found.check.allocations, 3u);
  EXPECT_EQ(found.check.frees, 3u);
  EXPECT_EQ(found.check.before, 0u);
}

TEST(Import, WhatContradictsItselfIsSetRight) {
  const Folder folder;
  const std::string block = "0x7f0000000000\n";
  const Imported found = import_of(folder, "free " + block + "malloc 1 = " + block + "malloc 2 = " + block + "free " +
                                               block + "free " + block);
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  EXPECT_EQ(found.check.allocations, 2u);
  EXPECT_EQ(found.check.frees, 3u);
}

TEST(Import, ALineThatIsNoneEndsIt) {
  const Folder folder;
  for (const char* text : {"malloc 5\n", "malloc 5 = 0x7f0000000001\n", "malloc many = 0x10\n", "frob 5 = 0x10\n",
                           "free\n", "memalign 3 5 = 0x10\n", "calloc 99999999999999999 9999 = 0x10\n",
                           "Tx malloc 5 = 0x10\n", "v 10400 3\ns 99999 short\n", "v 10400 3\nt 1 5\n", "v 10400 3\n+ 0\n",
                           "v 10400 3\na 5 1\n", "v 10400 3\nt 0 0\n+ 5 1 11\n", "v 10400 3\nc soon\n"}) {
    EXPECT_EQ(import_of(folder, text).code, 1) << text;
    EXPECT_NE(access((folder / "recording").c_str(), F_OK), 0) << text;
  }
}

// A stack that comes before the first address, and names one that never comes.
TEST(Import, AnAddressThatIsNotThereIsLeftOut) {
  const Folder folder;
  const Imported found = import_of(folder, "v 10400 3\nt 7fffffffffff 0\ni 1000\na 10 1\n+ 0\n");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.events.size(), 1u);
}

TEST(Import, HeaptrackAsInterpreted) {
  const Folder folder;
  const Imported found = import_of(folder,
                                   "v 10400 3\nX ./prog with words\nI 1000 5e298d\ns 9 /bin/prog\ns 4 main\ns 5 inner\n"
                                   "i 561e3d64e1ef 1 2 0 5\ni 561e3d64e200 1 3 0 7\nt 1 0\nt 2 1\na 3e8 2\na 10 0\n"
                                   "+ 0\n+ 1\n- 0\nc a\nR 3de\n+ 0\n- 1\nc 14\n");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  const std::vector<std::string> wanted = {"0.003 T0 allocate/0 1000 ", "0.007 T0 allocate/0 16 ", "0.010 T0 free/0 0 ",
                                           "0.015 T0 allocate/0 1000 ", "0.020 T0 free/0 0 "};
  EXPECT_EQ(found.events, wanted);  // what stands between two times is spread
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "recording"));
  std::string names;
  std::vector<uint8_t> payload;
  for (const Chunk& chunk : reader.chunks()) {
    if (chunk.header.type != ChunkType::kNames || !reader.read(chunk, payload)) continue;
    names.assign(payload.begin(), payload.end());
  }
  EXPECT_EQ(names, "561e3d64e1f0\t/bin/prog\tmain\t\t5\n561e3d64e201\t/bin/prog\tinner\t\t7\n");
}

TEST(Import, HeaptrackAsRecorded) {
  const Folder folder;
  const Imported found = import_of(folder,
                                   "v 10400 3\nx 9 /bin/none\nX prog\nI 1000 1\nm 1 -\nm 1 x 5000 0 100\nt 5010 0\n"
                                   "+ 10 1 7f0000001000\n+ 20 1 7f0000002000\n- 7f0000001000\nc 5\n");
  EXPECT_EQ(found.code, 0);
  EXPECT_EQ(found.check.problems, 0u);
  EXPECT_EQ(found.check.allocations, 2u);
  EXPECT_EQ(found.check.frees, 1u);
}

TEST(Placer, BlocksDoNotOverlap) {
  Placer placer;
  std::map<uint64_t, uint64_t> blocks;  // address → size
  uint64_t seed = 1;
  for (int i = 0; i < 20000; ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    const uint64_t random = seed >> 33;
    if (random % 3 == 0 && !blocks.empty()) {
      const auto block = blocks.begin();
      placer.give_back(block->first, block->second);
      blocks.erase(block);
      continue;
    }
    const uint64_t size = random % 7 == 0 ? random % 300000 : random % 2000;
    const uint64_t address = placer.place(size);
    ASSERT_NE(address, 0u);
    ASSERT_EQ(address % 16, 0u);
    const auto next = blocks.lower_bound(address);
    ASSERT_TRUE(next == blocks.end() || address + size <= next->first);
    ASSERT_TRUE(next == blocks.begin() || std::prev(next)->first + std::prev(next)->second <= address);
    blocks[address] = size;
  }
  EXPECT_EQ(placer.place(UINT64_MAX), 0u);
}

}  // namespace
}  // namespace acre::trace::testing
