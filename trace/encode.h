// Writes events as src/record/format.h has them, independently of the library's recorder and of the decoder: for
// imports (compose.h), and for tests to decode, merge and damage.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "record/format.h"

namespace acre::trace {

class Encoder {
 public:
  // Room for how many bytes; what does not fit is not written, and the call returns false.
  explicit Encoder(size_t room = record::kEventBytes) : room_(room) {}

  void begin(uint64_t ticks, uint64_t seen) {
    bytes.clear();
    last_.clear();
    slots_.clear();
    ticks_ = ticks;
    seen_ = seen;
    last_free_ = last_run_ = 0;
  }

  std::vector<uint8_t> bytes;

  bool has_room() const { return bytes.size() + record::kMostEvent <= room_; }

  void time(uint64_t ticks) {
    op(record::Op::kTime);
    number(ticks - ticks_);
    ticks_ = ticks;
  }

  void kind(record::Kind kind, uint8_t align_log2 = 0) {
    op(record::Op::kKind);
    bytes.push_back(static_cast<uint8_t>(kind));
    if (kind == record::Kind::kAligned) bytes.push_back(align_log2);
  }

  void stack(uint64_t stack) {
    op(record::Op::kStack);
    number(stack);
  }

  void allocate(uint64_t size, uint64_t address) {
    const unsigned context = record::context_of(size);
    const unsigned unit = record::unit_log2(context);
    slots_[record::slot_of(address)] = {address, context};
    if (address % (1 << unit) != 0) {
      op(record::Op::kMallocAt);
      number(size);
      for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<uint8_t>(address >> (8 * i)));
      return;
    }
    const auto difference = static_cast<int64_t>(address - last_[context]);
    last_[context] = address;
    if (size < record::kShortMalloc) {
      bytes.push_back(static_cast<uint8_t>(0x80 | (size & 0x3f)));
      bytes.push_back(static_cast<uint8_t>(size >> 6));
    } else {
      op(record::Op::kMalloc);
      number(size);
    }
    signed_number(difference >> unit);  // downwards, where the last one was no multiple
  }

  void free(uint64_t address, bool is_sized = false) {
    const unsigned slot = record::slot_of(address);
    const auto found = slots_.find(slot);
    if (found != slots_.end() && found->second.address == address) {
      bytes.push_back(static_cast<uint8_t>(slot & 0x7f));
      bytes.push_back(static_cast<uint8_t>(slot >> 7 | (is_sized ? 0x80 : 0)));
      last_[found->second.context] = address;
      slots_.erase(found);
    } else {
      if (is_sized) kind(record::Kind::kSized);
      op(record::Op::kFree);
      signed_number(static_cast<int64_t>(address - last_free_) / 8);
    }
    last_free_ = address;
  }

  void resize(uint64_t address, uint64_t size) {
    op(record::Op::kResize);
    signed_number(static_cast<int64_t>(address - last_free_) / 8);
    number(size);
    last_free_ = address;
  }

  void takeover(unsigned shard, uint64_t epoch, uint64_t n) {
    op(record::Op::kTakeover);
    number(shard);
    number(epoch);
    number(n - seen_);
    seen_ = n;
  }

  void sync(uint64_t n) {
    op(record::Op::kSync);
    number(n - seen_);
    seen_ = n;
  }

  void stack_is(uint64_t stack, const std::vector<uint64_t>& frames) {
    op(record::Op::kStackIs);
    number(stack);
    number(frames.size());
    uint64_t last = 0;
    for (const uint64_t frame : frames) {
      signed_number(static_cast<int64_t>(frame - last));
      last = frame;
    }
  }

  void text(record::Op which, std::string_view text) {
    op(which);
    number(text.size());
    bytes.insert(bytes.end(), text.begin(), text.end());
  }

  void figures(const std::vector<uint64_t>& figures) { list(record::Op::kFigures, figures, true); }
  void lost(uint64_t events) { list(record::Op::kLost, {events}, false); }
  void purged(uint64_t pages) { list(record::Op::kPurged, {pages}, false); }
  void cut(uint64_t lane, uint64_t block, uint64_t used) { list(record::Op::kCut, {lane, block, used}, false); }
  void end() { op(record::Op::kEnd); }

  void run_is(uint64_t address, uint64_t pages, uint64_t block_bytes) {
    run(record::Op::kRunIs, address);
    number(pages);
    number(block_bytes);
  }
  void run_gone(uint64_t address) { run(record::Op::kRunGone, address); }

  uint64_t seen() const { return seen_; }

 private:
  struct Slot {
    uint64_t address;
    unsigned context;
  };

  void op(record::Op op) { bytes.push_back(static_cast<uint8_t>(0xc0 | static_cast<uint8_t>(op))); }

  void number(uint64_t n) {
    while (n >= 0x80) {
      bytes.push_back(static_cast<uint8_t>(n | 0x80));
      n >>= 7;
    }
    bytes.push_back(static_cast<uint8_t>(n));
  }

  void signed_number(int64_t n) {
    number(n < 0 ? static_cast<uint64_t>(-(n + 1)) * 2 + 1 : static_cast<uint64_t>(n) * 2);
  }

  void list(record::Op which, const std::vector<uint64_t>& numbers, bool with_count) {
    op(which);
    if (with_count) number(numbers.size());
    for (const uint64_t n : numbers) number(n);
  }

  void run(record::Op which, uint64_t address) {
    op(which);
    signed_number(static_cast<int64_t>((address >> 12) - last_run_));
    last_run_ = address >> 12;
  }

  size_t room_;
  uint64_t ticks_ = 0, seen_ = 0, last_free_ = 0, last_run_ = 0;
  std::map<unsigned, uint64_t> last_;
  std::map<unsigned, Slot> slots_;
};

}  // namespace acre::trace
