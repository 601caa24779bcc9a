// The memory that the collector shares with recorded programs (src/record/format.h), as the collector sees it.
#pragma once

#include <atomic>
#include <cstdint>

#include "record/format.h"

namespace acre::trace {

// Between processes. Both return at once after a signal.
void futex_wait(std::atomic<uint32_t>& word, uint32_t expected, uint64_t timeout_ns);
void futex_wake_all(std::atomic<uint32_t>& word);

// Bytes of the events in a block that is not filled; 0: it was not begun. Where the thread begins it just now, the number
// is there after `used`, so it is read before.
template <class Header>
uint32_t used_so_far(const Header& block, uint32_t number) {
  const bool has_begun = block.number.load(std::memory_order_acquire) == number;
  return has_begun ? block.used.load(std::memory_order_acquire) : 0;
}

class SharedMemory {
 public:
  SharedMemory() = default;
  ~SharedMemory();
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  bool make();                  // by the collector; header() has to be filled and its magic written
  bool open(const char* path);  // by a program: /proc/PID/fd/N
  int file() const { return file_; }

  record::SharedHeader& header() const { return *at<record::SharedHeader>(0); }
  record::ProcessHeader& process(unsigned i) const {
    return *at<record::ProcessHeader>(record::kProcessesAt + i * sizeof(record::ProcessHeader));
  }
  record::LaneHeader& lane(unsigned i) const {
    return *at<record::LaneHeader>(record::kLanesAt + i * sizeof(record::LaneHeader));
  }
  // The place of block `number` of a lane.
  record::BlockHeader& block(unsigned lane, uint32_t number) const {
    return *at<record::BlockHeader>(block_at(lane, number));
  }
  uint8_t* events(unsigned lane, uint32_t number) const {
    return at<uint8_t>(block_at(lane, number) + sizeof(record::BlockHeader));
  }
  void release_blocks(unsigned lane) const;  // their pages go back; they read as zeroes

 private:
  static size_t block_at(unsigned lane, uint32_t number) {
    return record::kBlocksAt + lane * record::kLaneBytes + number % record::kBlocksPerLane * record::kBlockBytes;
  }
  template <class T>
  T* at(size_t offset) const {
    return reinterpret_cast<T*>(memory_ + offset);
  }

  int file_ = -1;
  char* memory_ = nullptr;
};

}  // namespace acre::trace
