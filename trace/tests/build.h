// Small files, made lane by lane.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "encode.h"
#include "file.h"

namespace acre::trace::testing {

class Folder {
 public:
  Folder() {
    // In memory: some tests write a file a thousand times.
    std::string path = std::string(access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + "/acre-trace-XXXXXX";
    path_ = mkdtemp(path.data());
  }
  ~Folder() {
    const std::string command = "rm -rf '" + path_ + "'";
    if (system(command.c_str()) != 0) perror("rm");
  }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::vector<uint8_t> bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_bytes(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<long>(bytes.size()));
}

struct BuiltBlock {
  uint32_t process, lane, number;
  uint64_t ticks, seen;
  std::vector<uint8_t> bytes;
  uint32_t events;
};

inline ChunkHeader header_of(const BuiltBlock& block) {
  ChunkHeader header;
  header.type = ChunkType::kEvents;
  header.process = block.process;
  header.lane = block.lane;
  header.block = block.number;
  header.first_ticks = header.last_ticks = block.ticks;
  header.seen = block.seen;
  header.events = block.events;
  return header;
}

inline bool write_process(Writer& writer, uint32_t number, uint32_t parent = kNone) {
  ChunkHeader header;
  header.type = ChunkType::kProcessStart;
  header.process = number;
  header.lane = parent;
  return writer.write(header, std::string_view("{\"pid\":1}"));
}

inline bool write_end(Writer& writer, uint32_t number, Ending ending) {
  ChunkHeader header;
  header.type = ChunkType::kProcessEnd;
  header.process = number;
  header.lane = static_cast<uint32_t>(ending);
  header.block = 0;
  return writer.write(header, std::string_view());
}

inline void write_file(const std::string& path, const std::vector<BuiltBlock>& blocks,
                       const std::map<uint32_t, uint32_t>& parents = {{0, kNone}}, bool whole = true) {
  Writer writer;
  ASSERT_TRUE(writer.open(path, new_file_header(0)));
  for (const auto& [process, parent] : parents) ASSERT_TRUE(write_process(writer, process, parent));
  for (const BuiltBlock& block : blocks)
    ASSERT_TRUE(writer.write(header_of(block), std::span<const uint8_t>(block.bytes)));
  for (const auto& [process, parent] : parents) ASSERT_TRUE(write_end(writer, process, Ending::kExit));
  if (whole) {
    ASSERT_TRUE(writer.finish());
  }
}

}  // namespace acre::trace::testing
