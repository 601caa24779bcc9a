// Writes a schedule (replay/format.h). The file is mapped: a word that has been written can still be changed, and the
// tool's own memory does not grow with the file.
#pragma once

#include <string>
#include <vector>

#include "replay/format.h"

namespace acre::trace {

class ScheduleFile {
 public:
  ScheduleFile() = default;
  ~ScheduleFile();
  ScheduleFile(const ScheduleFile&) = delete;
  ScheduleFile& operator=(const ScheduleFile&) = delete;

  // False, here and below: error() is an errno, and the file is gone.
  bool open(const std::string& path);
  // To the words of a thread; threads are numbered 0 …
  bool append(uint32_t thread, uint64_t word);
  // Sets kPosted in a word.
  void post(uint32_t thread, uint64_t number);
  uint64_t words(uint32_t thread) const { return thread < threads_.size() ? threads_[thread].words : 0; }
  // Fills in what it knows of the header.
  bool finish(replay::Header header, const std::vector<replay::Sample>& samples);

  int error() const { return error_; }
  uint64_t bytes() const { return used_; }

 private:
  struct Part {
    uint64_t first_word, offset;
  };
  struct Thread {
    uint64_t words = 0;
    uint64_t room = 0;  // words left in the last piece
    std::vector<Part> pieces;
  };
  bool allot(uint64_t bytes, uint64_t& offset);
  bool begin_piece(Thread& thread);
  bool fail(int error);
  template <class T>
  T& at(uint64_t offset) {
    return *reinterpret_cast<T*>(map_ + offset);
  }

  std::string path_;
  int file_ = -1;
  int error_ = 0;
  char* map_ = nullptr;
  uint64_t mapped_ = 0;
  uint64_t used_ = 0;
  uint64_t longest_piece_ = 0;
  std::vector<Thread> threads_;
};

}  // namespace acre::trace
