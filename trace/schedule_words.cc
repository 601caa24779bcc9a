#include "schedule_words.h"

#include <cerrno>
#include <cstring>

namespace acre::trace {

using replay::Op;
using replay::word_of;

bool ScheduleWords::open(const std::string& path) {
  path_ = path;
  threads_.resize(1);
  if (!file_.open(path)) fail("cannot write '" + path + "': " + strerror(file_.error()));
  append(0, replay::time_word(0));
  return error_.empty();
}

bool ScheduleWords::finish(uint64_t peak_bytes) {
  replay::Header header{};
  header.slots = slots_.count();
  header.operations = operations_;
  header.peak_bytes = peak_bytes;
  if (error_.empty() && !file_.finish(header, samples_)) {
    fail("cannot write '" + path_ + "': " + strerror(file_.error()));
  }
  return error_.empty();
}

void ScheduleWords::append(uint32_t thread, uint64_t word) {
  if (file_.append(thread, word)) return;
  fail(file_.error() == EFBIG ? "a thread has more than 4 billion events: that is too many"
                              : "cannot write '" + path_ + "': " + strerror(file_.error()));
}

// What the thread does next comes behind that.
void ScheduleWords::wait(uint32_t thread, Moment moment) {
  if (moment.thread == thread || moment.thread == replay::kNoThread) return;
  uint32_t& known = threads_[thread].known[moment.thread];
  if (known > moment.word) return;
  known = moment.word + 1;
  file_.post(moment.thread, moment.word);
  append(thread, word_of(Op::kWait, moment.thread, moment.word));
  ++waits_;
}

uint32_t ScheduleWords::add_thread() {
  const auto thread = static_cast<uint32_t>(threads_.size());
  if (thread >= replay::kMostSlots) {
    fail("it has more than " + std::to_string(replay::kMostSlots) + " threads: that is too many");
    return 0;
  }
  Thread added;
  added.time_ns = threads_[last_thread_].time_ns;
  added.meetings = threads_[last_thread_].meetings;
  threads_.push_back(std::move(added));
  append(last_thread_, word_of(Op::kStart, thread, 0));
  return thread;
}

void ScheduleWords::set_time(uint64_t ns) {
  if (ns > time_ns_) time_ns_ = ns;
}

uint32_t ScheduleWords::new_slot(uint32_t thread) {
  const uint32_t slot = slots_.take(thread);
  if (slot < replay::kMostSlots) return slot;
  fail("more than " + std::to_string(replay::kMostSlots) + " blocks live at a time: that is too many");
  return 0;
}

void ScheduleWords::operate(uint32_t thread, Op op, uint32_t slot, uint64_t size, unsigned align_log2) {
  if (!error_.empty()) return;
  Thread& own = threads_[thread];
  if (!own.is_active) {
    own.is_active = true;
    active_.push_back(thread);
  }
  if (own.meetings < meetings_) {
    own.meetings = meetings_;
    wait(thread, met_);
  }
  if (time_ns_ > own.time_ns) {
    own.time_ns = time_ns_;
    append(thread, replay::time_word(time_ns_));
  }
  wait(thread, slots_.last(slot));
  if (align_log2 != 0 || size > UINT32_MAX) {
    append(thread, word_of(Op::kWide, align_log2, static_cast<uint32_t>(size >> 32)));
  }
  append(thread, word_of(op, slot, static_cast<uint32_t>(size)));
  slots_.last(slot) = {thread, last_word(thread)};
  last_thread_ = thread;
  ++operations_;
}

void ScheduleWords::sample(uint64_t live_bytes, uint64_t resident_bytes) {
  if (!error_.empty()) return;
  for (const uint32_t thread : active_) {
    threads_[thread].is_active = false;
    if (thread != last_thread_) wait(last_thread_, {thread, last_word(thread)});
  }
  active_.clear();
  append(last_thread_, word_of(Op::kSample, 0, static_cast<uint32_t>(samples_.size())));
  samples_.push_back({time_ns_, live_bytes, resident_bytes});
  met_ = {last_thread_, last_word(last_thread_)};
  threads_[last_thread_].meetings = ++meetings_;
}

}  // namespace acre::trace
