// Where the collector writes to: a file, or with a bound the last of several segments, of which the oldest are removed.
// Each segment is a trace file of its own, which begins with what is known of the processes that run then.
#pragma once

#include <deque>
#include <functional>
#include <string>

#include "file.h"

namespace acre::trace {

inline constexpr uint64_t kLeastLimit = 4u << 20;
inline constexpr unsigned kSegments = 8;  // of the bound

class Output {
 public:
  // limit: bytes, 0: none. checkpoint: writes what each segment but the first begins with. Until the first chunk is
  // written, what an earlier recording has left under that name stays as it is. False: see failure().
  bool open(const std::string& path, uint64_t limit, uint32_t stack_every, std::function<void()> checkpoint);
  bool write(const ChunkHeader& header, std::span<const uint8_t> payload);
  bool write(const ChunkHeader& header, std::string_view payload);
  bool finish();
  void hurry(bool on) { writer_.hurry(on); }  // as Writer's

  bool has_failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }  // a line
  uint64_t bytes() const;                                  // on the disk by now
  uint64_t dropped_segments() const { return dropped_; }

 private:
  std::string segment_path(uint32_t number) const;
  bool is_written_by_another() const;
  // Holds the lock of the segment in place of the one before. False: it cannot be written, or another has its lock.
  bool lock(const std::string& segment);
  bool begin();
  bool begin_segment();
  bool fail(const char* what, const std::string& path, int error);

  Writer writer_;
  FileHeader header_{};
  std::string path_;
  std::string failure_;
  uint64_t limit_ = 0;
  uint64_t segment_limit_ = 0;
  uint64_t dropped_ = 0;
  std::deque<std::pair<uint32_t, uint64_t>> closed_;  // segment, bytes
  std::function<void()> checkpoint_;
  bool in_checkpoint_ = false;
  bool has_begun_ = false;
  int lock_ = -1;  // of the segment that is being written, so that two recordings of one name do not destroy each other
};

}  // namespace acre::trace
