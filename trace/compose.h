// Writes a recording of one process from calls that another tool has written down, one after another. Each thread has a
// lane, and the order of the calls is kept as src/record/format.h has it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "encode.h"
#include "file.h"

namespace acre::trace {

class Composer {
 public:
  static constexpr size_t kMostThreads = 65536;

  // start: JSON of the process's beginning (docs/trace-format.md). False: a line has said why, as with all that follow.
  bool open(const std::string& path, uint32_t stack_every, std::string_view start);

  // ns: since the recording began; what is less than before counts as before. Addresses are multiples of 8. Calls that
  // contradict those before are set right: a block that lives is freed before it is given out again, and what was freed
  // is not freed a second time.
  void allocate(uint32_t thread, uint64_t ns, record::Kind kind, unsigned align_log2, uint64_t size, uint64_t address,
                uint64_t stack = UINT64_MAX);
  void free(uint32_t thread, uint64_t ns, record::Kind kind, uint64_t address);
  void resize(uint32_t thread, uint64_t ns, uint64_t address, uint64_t size);
  void mark(uint32_t thread, uint64_t ns, std::string_view text);

  // Innermost frame first. Before the stack is used.
  void stack_is(uint64_t stack, const std::vector<uint64_t>& frames);
  void memory(uint64_t ns, uint64_t resident);
  bool text(ChunkType type, std::string_view text);  // kMappings, kNames

  uint64_t events() const { return events_; }
  uint64_t added() const { return added_; }      // frees
  uint64_t dropped() const { return dropped_; }  // the same
  void add_dropped(uint64_t frees) { dropped_ += frees; }
  bool has_failed() const { return writer_.error() != 0; }
  bool finish();

 private:
  struct Lane {
    uint32_t number;
    Encoder encoder;
    uint32_t block = 0;
    uint32_t events = 0;  // in the block
    uint64_t first_ns = 0, seen = 0, last_ns = 0;
    unsigned since_time = 0;
  };

  Lane& lane_of(uint32_t thread, uint64_t ns);
  // Room for the next event, the time, and what other lanes have done.
  Lane& prepare(uint32_t thread, uint64_t ns);
  Lane& touch(uint32_t thread, uint64_t ns, uint64_t address);
  void begin_block(Lane& lane, uint64_t ns);
  void write_block(const Lane& lane);
  bool write(const ChunkHeader& header, const void* data, size_t bytes);

  Writer writer_;
  std::string path_;
  std::unordered_map<uint32_t, size_t> by_thread_;
  std::vector<Lane> lanes_;
  std::vector<std::pair<uint32_t, uint64_t>> shards_;  // lane + 1, epoch
  std::unordered_map<uint64_t, bool> lives_;  // of each block by now
  std::vector<MemorySample> memory_;
  uint64_t takeovers_ = 0, now_ = 0, events_ = 0, realtime_ns_ = 0, added_ = 0, dropped_ = 0;
  uint32_t last_lane_ = kNone;
  bool has_said_ = false;
};

}  // namespace acre::trace
