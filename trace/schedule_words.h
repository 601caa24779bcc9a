// The words of a schedule's threads: what they do, and what they wait for (schedule.h).
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "schedule_file.h"
#include "schedule_slots.h"

namespace acre::trace {

class ScheduleWords {
 public:
  static constexpr uint64_t kSamples = 512;

  // Thread 0 is the main thread.
  bool open(const std::string& path);
  bool finish(uint64_t peak_bytes);

  // A thread that the one which did the last operation starts.
  uint32_t add_thread();
  void set_time(uint64_t ns);  // of the operations from now on
  uint32_t new_slot(uint32_t thread);
  // With the block in the slot.
  void operate(uint32_t thread, replay::Op op, uint32_t slot, uint64_t size, unsigned align_log2 = 0);
  void empty(uint32_t slot, uint32_t thread) { slots_.give(slot, thread); }
  // All threads meet.
  void sample(uint64_t live_bytes, uint64_t resident_bytes);

  const std::string& error() const { return error_; }  // a line; all calls may bring one
  uint64_t threads() const { return threads_.size(); }
  uint32_t slots() const { return slots_.count(); }
  uint64_t operations() const { return operations_; }
  uint64_t waits() const { return waits_; }
  uint64_t samples() const { return samples_.size(); }
  uint64_t bytes() const { return file_.bytes(); }

 private:
  struct Thread {
    uint64_t time_ns = 0;                          // of its last word
    uint64_t meetings = 0;                         // that it knows of
    bool is_active = false;                        // since the last one
    std::unordered_map<uint32_t, uint32_t> known;  // of another thread: so many words are done
  };

  void append(uint32_t thread, uint64_t word);
  void wait(uint32_t thread, Moment moment);
  uint32_t last_word(uint32_t thread) const { return static_cast<uint32_t>(file_.words(thread) - 1); }
  void fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
  }

  std::string path_, error_;
  ScheduleFile file_;
  ScheduleSlots slots_;
  std::vector<Thread> threads_;
  std::vector<uint32_t> active_;
  std::vector<replay::Sample> samples_;
  Moment met_;
  uint64_t meetings_ = 0;
  uint64_t time_ns_ = 0;
  uint64_t operations_ = 0, waits_ = 0;
  uint32_t last_thread_ = 0;
};

}  // namespace acre::trace
