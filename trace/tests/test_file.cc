#include <sys/resource.h>

#include <csignal>

#include "build.h"
#include "check.h"
#include "output.h"

namespace acre::trace::testing {
namespace {

std::vector<BuiltBlock> some_blocks(uint32_t count) {
  std::vector<BuiltBlock> blocks;
  for (uint32_t i = 0; i < count; ++i) {
    Encoder encoder;
    encoder.begin(1000 + i, i == 0 ? 0 : 1);
    if (i == 0) encoder.takeover(record::shard_of(0x7f0000000000), 1, 1);
    uint32_t events = 0;
    for (uint64_t n = 0; n < 20; ++n, events += 2) {
      encoder.allocate(16 + n, 0x7f0000000000 + n * 64);
      encoder.free(0x7f0000000000 + n * 64);
    }
    if (i + 1 == count) encoder.end();
    blocks.push_back({0, 0, i, 1000 + i, i == 0 ? 0u : 1u, encoder.bytes, events});
  }
  return blocks;
}

TEST(File, ComesBackAsItWasWritten) {
  const Folder folder;
  write_file(folder / "a", some_blocks(5));
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a")) << reader.error();
  EXPECT_TRUE(reader.has_index());
  ASSERT_EQ(reader.chunks().size(), 7u);
  const std::vector<BuiltBlock> blocks = some_blocks(5);
  std::vector<uint8_t> payload;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Chunk& chunk = reader.chunks()[i + 1];
    EXPECT_EQ(chunk.header.type, ChunkType::kEvents);
    EXPECT_EQ(chunk.header.block, i);
    ASSERT_TRUE(reader.read(chunk, payload));
    EXPECT_EQ(payload, blocks[i].bytes);
  }
  const CheckResult result = check_file(folder / "a");
  EXPECT_EQ(result.problems, 0u) << result.first_problems[0];
  EXPECT_EQ(result.events(), 200u);
}

TEST(File, IsReadWithoutItsIndex) {
  const Folder folder;
  write_file(folder / "a", some_blocks(5), {{0, kNone}}, false);
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a")) << reader.error();
  EXPECT_FALSE(reader.has_index());
  EXPECT_EQ(reader.chunks().size(), 7u);
  EXPECT_EQ(reader.damaged_bytes(), 0u);
}

TEST(File, CutOffAnywhereKeepsWhatIsWhole) {
  const Folder folder;
  write_file(folder / "a", some_blocks(5));
  const std::vector<uint8_t> whole = bytes_of(folder / "a");
  size_t last = 0;
  for (size_t length = 0; length <= whole.size(); ++length) {
    write_bytes(folder / "b", {whole.begin(), whole.begin() + static_cast<long>(length)});
    Reader reader;
    const bool is_open = reader.open(folder / "b");
    EXPECT_EQ(is_open, length >= sizeof(FileHeader)) << length;
    if (!is_open) {
      EXPECT_NE(reader.error().find("is no trace of acre"), std::string::npos) << reader.error();
      continue;
    }
    EXPECT_GE(reader.chunks().size(), last) << length;
    last = reader.chunks().size();
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : reader.chunks()) EXPECT_TRUE(reader.read(chunk, payload)) << length;
    EXPECT_EQ(reader.has_index(), length == whole.size());
  }
  EXPECT_EQ(last, 7u);
}

// Each bit of a file: what it says is refused, or is left out, or was of no matter; the rest is read.
TEST(File, AnyByteMayBeWrong) {
  const Folder folder;
  write_file(folder / "a", some_blocks(6));
  const std::vector<uint8_t> whole = bytes_of(folder / "a");
  const CheckResult sound = check_file(folder / "a");
  ASSERT_EQ(sound.problems, 0u);
  size_t noticed = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff}) {
      std::vector<uint8_t> bytes = whole;
      bytes[at] = static_cast<uint8_t>(bytes[at] ^ flip);
      write_bytes(folder / "b", bytes);
      const CheckResult result = check_file(folder / "b");
      if (at < sizeof(FileHeader)) {
        EXPECT_FALSE(result.error.empty()) << at;
        continue;
      }
      ASSERT_TRUE(result.error.empty()) << at << ": " << result.error;
      EXPECT_LE(result.events(), sound.events());
      EXPECT_GE(result.events() + 40, sound.events()) << at;  // one block is lost at most
      if (result.problems != 0 || result.damaged_bytes != 0 || !result.has_index) ++noticed;
      // With the index and all blocks everything is there.
      else
        EXPECT_EQ(result.events(), sound.events()) << at;
    }
  }
  EXPECT_GT(noticed, whole.size());
}

// Appends an index of these entries, all checksums of which are right, and the trailer.
void append_index(const std::string& path, std::vector<IndexEntry> entries, int64_t off = 0) {
  std::vector<uint8_t> bytes = bytes_of(path);
  const auto append = [&](const auto* from, size_t count) {
    const auto* const first = reinterpret_cast<const uint8_t*>(from);
    bytes.insert(bytes.end(), first, first + count * sizeof *from);
  };
  for (IndexEntry& entry : entries) entry.header.crc32 = crc32_of(&entry.header, offsetof(ChunkHeader, crc32));
  Trailer trailer{bytes.size() + static_cast<uint64_t>(off), 0, 0, kTrailerMagic};
  ChunkHeader header;
  header.type = ChunkType::kIndex;
  header.stored_bytes = header.raw_bytes = static_cast<uint32_t>(entries.size() * sizeof(IndexEntry));
  header.payload_crc32 = crc32_of(entries.data(), header.raw_bytes);
  header.crc32 = crc32_of(&header, offsetof(ChunkHeader, crc32));
  append(&header, 1);
  append(entries.data(), entries.size());
  trailer.crc32 = crc32_of(&trailer, offsetof(Trailer, crc32));
  append(&trailer, 1);
  write_bytes(path, bytes);
}

// One that was made so: it names what is not in the file. The chunks are read one by one then.
TEST(File, AnIndexMayLie) {
  const Folder folder;
  const auto chunks_with = [&](const auto& change, int64_t off = 0) {
    write_file(folder / "a", some_blocks(5), {{0, kNone}}, false);
    std::vector<IndexEntry> entries;
    {
      Reader reader;
      EXPECT_TRUE(reader.open(folder / "a"));
      for (const Chunk& chunk : reader.chunks()) entries.push_back({chunk.offset, chunk.header});
    }
    change(entries[3]);
    append_index(folder / "a", entries, off);
    Reader reader;
    EXPECT_TRUE(reader.open(folder / "a")) << reader.error();
    std::vector<uint8_t> payload;
    for (const Chunk& chunk : reader.chunks()) EXPECT_TRUE(reader.read(chunk, payload)) << chunk.offset;
    EXPECT_EQ(reader.damaged_bytes(), 0u);
    EXPECT_EQ(reader.chunks().size(), 7u);
    return reader.has_index();
  };
  EXPECT_TRUE(chunks_with([](IndexEntry&) {}));
  for (const uint64_t offset : {UINT64_MAX, UINT64_MAX - 10, UINT64_MAX - sizeof(ChunkHeader), uint64_t{1} << 63,
                                uint64_t{1} << 32, uint64_t{100000}}) {
    EXPECT_FALSE(chunks_with([&](IndexEntry& entry) { entry.offset = offset; })) << offset;
  }
  for (const uint32_t bytes : {UINT32_MAX, UINT32_MAX - 63, 1u << 20}) {
    EXPECT_FALSE(chunks_with([&](IndexEntry& entry) { entry.header.stored_bytes = bytes; })) << bytes;
    EXPECT_FALSE(chunks_with([&](IndexEntry& entry) {
      entry.header.stored_bytes = bytes;
      entry.offset = UINT64_MAX - bytes;
    })) << bytes;
  }
  EXPECT_FALSE(chunks_with([](IndexEntry& entry) { entry.header.raw_bytes = kMostPayload + 1; }));
  EXPECT_FALSE(chunks_with([](IndexEntry& entry) { entry.header.magic = 0; }));
  for (const int64_t off : {int64_t{-1}, int64_t{64}, INT64_MIN, int64_t{-100000}}) {
    EXPECT_FALSE(chunks_with([](IndexEntry&) {}, off)) << off;
  }
}

TEST(File, WhatIsNoTraceIsRefusedInALine) {
  const Folder folder;
  const auto error = [&](const std::string& path) {
    Reader reader;
    EXPECT_FALSE(reader.open(path));
    return reader.error();
  };
  EXPECT_EQ(error(folder / "none"), "cannot read '" + folder / "none" + "': No such file or directory");
  EXPECT_EQ(error("/tmp"), "'/tmp' is no file");
  EXPECT_EQ(error("/dev/null"), "'/dev/null' is no file");
  write_bytes(folder / "text", std::vector<uint8_t>(1000, 'a'));
  EXPECT_EQ(error(folder / "text"), "'" + folder / "text" + "' is no trace of acre");
  write_file(folder / "a", some_blocks(1));
  std::vector<uint8_t> bytes = bytes_of(folder / "a");
  bytes[8] = 9;
  write_bytes(folder / "new", bytes);
  EXPECT_EQ(error(folder / "new"), "'" + folder / "new" + "' has version 9 of the format, and this acre reads 1 to 3");
}

TEST(File, IsReadInItsFirstVersion) {
  const Folder folder;
  write_file(folder / "a", some_blocks(1));
  std::vector<uint8_t> bytes = bytes_of(folder / "a");
  ASSERT_EQ(bytes[8], 3);
  bytes[8] = 1;
  const uint32_t crc = crc32_of(bytes.data(), 60);
  memcpy(&bytes[60], &crc, sizeof crc);
  write_bytes(folder / "a", bytes);
  Reader reader;
  EXPECT_TRUE(reader.open(folder / "a")) << reader.error();
}

TEST(File, ChunksOfUnknownTypesArePassedOver) {
  const Folder folder;
  Writer writer;
  ASSERT_TRUE(writer.open(folder / "a", new_file_header(0)));
  ChunkHeader header;
  header.type = static_cast<ChunkType>(77);
  header.process = 0;
  ASSERT_TRUE(writer.write(header, std::string_view("new")));
  for (const BuiltBlock& block : some_blocks(2))
    ASSERT_TRUE(writer.write(header_of(block), std::span<const uint8_t>(block.bytes)));
  ASSERT_TRUE(writer.finish());
  const CheckResult result = check_file(folder / "a");
  EXPECT_EQ(result.problems, 0u);
  EXPECT_EQ(result.events(), 80u);
}

TEST(File, AFullDiskLeavesWhatIsWhole) {
  const Folder folder;
  rlimit before;
  getrlimit(RLIMIT_FSIZE, &before);
  signal(SIGXFSZ, SIG_IGN);
  const rlimit little = {2000, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &little);
  Writer writer;
  EXPECT_TRUE(writer.open(folder / "a", new_file_header(0)));
  const std::vector<BuiltBlock> blocks = some_blocks(1);
  int written = 0;
  while (writer.write(header_of(blocks[0]), std::span<const uint8_t>(blocks[0].bytes))) ++written;
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(writer.error(), EFBIG);
  EXPECT_FALSE(writer.finish());
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a"));
  EXPECT_EQ(reader.chunks().size(), static_cast<size_t>(written));
  EXPECT_EQ(reader.damaged_bytes(), 0u);
}

// Payloads that cannot be compressed.
class Noise {
 public:
  std::span<const uint8_t> next() {
    for (uint8_t& byte : bytes_) byte = static_cast<uint8_t>((seed_ = seed_ * 1664525 + 1013904223) >> 24);
    return bytes_;
  }

 private:
  std::vector<uint8_t> bytes_ = std::vector<uint8_t>(60000);
  uint32_t seed_ = 1;
};

TEST(Output, ABoundKeepsTheLastBytes) {
  const Folder folder;
  Output output;
  int checkpoints = 0;
  ASSERT_TRUE(output.open(folder / "a", kLeastLimit, 0, [&] {
    ++checkpoints;
    ChunkHeader header;
    header.type = ChunkType::kProcessStart;
    header.process = 0;
    output.write(header, std::string_view("{}"));
  }));
  Noise noise;
  ChunkHeader header;
  header.process = 0;
  header.lane = 0;
  for (uint32_t i = 0; i < 300; ++i) {  // 18 MB
    header.block = i;
    ASSERT_TRUE(output.write(header, noise.next()));
    EXPECT_LE(output.bytes(), kLeastLimit);
  }
  ASSERT_TRUE(output.finish());
  EXPECT_GT(checkpoints, 20);
  for (const std::string& path : {folder / "a", segments_of(folder / "a")[2]}) {
    Reader reader;
    ASSERT_TRUE(reader.open(path)) << reader.error();
    EXPECT_TRUE(reader.is_bounded());
    EXPECT_TRUE(reader.has_index());
    EXPECT_LE(reader.file_bytes(), kLeastLimit);
    EXPECT_GT(reader.file_bytes(), kLeastLimit * 3 / 4);
    uint32_t expected = 0;
    for (const Chunk& chunk : reader.chunks()) {
      if (chunk.header.type != ChunkType::kEvents) continue;
      EXPECT_TRUE(expected == 0 || chunk.header.block == expected) << expected;
      expected = chunk.header.block + 1;
    }
    EXPECT_EQ(expected, 300u);
    EXPECT_EQ(reader.chunks()[0].header.type, ChunkType::kProcessStart);
  }
  // The next recording of that name leaves nothing of this one.
  Output again;
  ASSERT_TRUE(again.open(folder / "a", kLeastLimit, 0, [] {}));
  ASSERT_TRUE(again.write(header, std::string_view("short")));
  ASSERT_TRUE(again.finish());
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a"));
  EXPECT_EQ(reader.chunks().size(), 1u);
  EXPECT_TRUE(segments_of(folder / "a").empty());
}

TEST(Output, TwoRecordingsDoNotShareAFile) {
  const Folder folder;
  Output one, two;
  ASSERT_TRUE(one.open(folder / "a", 0, 0, [] {}));
  EXPECT_FALSE(two.open(folder / "a", 0, 0, [] {}));
  EXPECT_EQ(two.failure(), "'" + folder / "a" + "' is being written by another recording");
}

TEST(Output, ARecordingWithABoundHasItsNameAlsoWithoutItsFirstSegment) {
  const Folder folder;
  Output one;
  ASSERT_TRUE(one.open(folder / "a", kLeastLimit, 0, [] {}));
  Noise noise;
  while (one.dropped_segments() == 0) ASSERT_TRUE(one.write(ChunkHeader(), noise.next()));
  const std::vector<std::string> segments = segments_of(folder / "a");
  for (const uint64_t limit : {kLeastLimit, uint64_t{0}}) {
    Output two;
    EXPECT_FALSE(two.open(folder / "a", limit, 0, [] {}) && two.write(ChunkHeader(), std::string_view("two")));
    EXPECT_EQ(two.failure(), "'" + folder / "a" + "' is being written by another recording");
    EXPECT_EQ(segments_of(folder / "a"), segments);
    EXPECT_NE(access((folder / "a").c_str(), F_OK), 0);
  }
  EXPECT_TRUE(one.finish());
}

TEST(Output, ARecordingWithABoundRemovesNoneThatIsBeingWritten) {
  const Folder folder;
  Output one, two;
  ASSERT_TRUE(one.open(folder / "a", 0, 0, [] {}));
  ASSERT_TRUE(one.write(ChunkHeader(), std::string_view("one")));
  EXPECT_FALSE(two.open(folder / "a", kLeastLimit, 0, [] {}) && two.write(ChunkHeader(), std::string_view("two")));
  EXPECT_EQ(two.failure(), "'" + folder / "a" + "' is being written by another recording");
  ASSERT_TRUE(one.finish());
  Reader reader;
  ASSERT_TRUE(reader.open(folder / "a")) << reader.error();
  EXPECT_EQ(reader.chunks().size(), 1u);
}

// What is refused, or ends before its first chunk, leaves an earlier recording as it is.
TEST(Output, AnEarlierRecordingStaysUntilTheFirstChunk) {
  const Folder folder;
  for (const uint64_t limit : {uint64_t{0}, kLeastLimit}) {
    write_file(folder / "a", some_blocks(1));
    write_file(folder / "a.00000001", some_blocks(1));
    write_file(folder / "a.00000002", some_blocks(2));
    const std::vector<uint8_t> before = bytes_of(folder / "a"), first = bytes_of(folder / "a.00000001");
    {
      Output output;
      ASSERT_TRUE(output.open(folder / "a", limit, 0, [] {}));
      EXPECT_TRUE(output.finish());
    }
    EXPECT_EQ(bytes_of(folder / "a"), before);
    EXPECT_EQ(bytes_of(folder / "a.00000001"), first);
    EXPECT_EQ(segments_of(folder / "a").size(), 2u);
    Output output;
    ASSERT_TRUE(output.open(folder / "a", limit, 0, [] {}));
    ASSERT_TRUE(output.write(ChunkHeader(), std::string_view("short")));
    ASSERT_TRUE(output.finish());
    Reader reader;
    ASSERT_TRUE(reader.open(folder / "a"));
    EXPECT_EQ(reader.chunks().size(), 1u);
    EXPECT_EQ(segments_of(folder / "a").size(), limit == 0 ? 2u : 0u);
  }
}

}  // namespace
}  // namespace acre::trace::testing
