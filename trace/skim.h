// What events a block holds, without their addresses: a small part of the work of a Decoder (decode.h). Where a block is
// skimmed to its end, its events have the right form; a Decoder may still refuse them.
#pragma once

#include <cstdint>
#include <span>

#include "record/format.h"

namespace acre::trace {

struct Skimmed {
  uint32_t events = 0;    // allocations, frees and resizes
  uint64_t lost = 0;      // by kLost
  uint64_t ticks = 0;     // the block's last time
  bool is_whole = false;  // false: what follows has no event's form, or is cut off
};

class Skimmer {
 public:
  Skimmer(std::span<const uint8_t> bytes, uint64_t start_ticks)
      : at_(bytes.data()), end_(bytes.data() + bytes.size()) {
    found_.ticks = start_ticks;
  }

  // on_stack(number, bytes): for each kStackIs.
  template <class OnStack>
  Skimmed run(OnStack on_stack) {
    while (at_ != end_) {
      const uint8_t* const start = at_;
      const uint8_t first = *at_++;
      if (first < 0x80) {
        if (at_ == end_) return found_;
        ++at_;
        ++found_.events;
      } else if (first < 0xc0) {
        if (at_ == end_) return found_;
        ++at_;
        if (!pass(1)) return found_;
        ++found_.events;
      } else {
        const auto op = static_cast<record::Op>(first & 0x3f);
        uint64_t stack = 0;
        if (!operation(op, stack)) return found_;
        if (op == record::Op::kStackIs) on_stack(stack, std::span(start, at_));
      }
    }
    found_.is_whole = true;
    return found_;
  }

 private:
  bool number(uint64_t& to) {
    to = 0;
    for (unsigned shift = 0; at_ != end_ && shift < 64; shift += 7) {
      const uint8_t byte = *at_++;
      to |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }
  bool pass(uint64_t numbers) {
    for (; numbers != 0; --numbers) {
      while (at_ != end_ && *at_ >= 0x80) ++at_;
      if (at_ == end_) return false;
      ++at_;
    }
    return true;
  }
  bool pass_bytes(uint64_t count) {
    if (count > static_cast<uint64_t>(end_ - at_)) return false;
    at_ += count;
    return true;
  }

  bool operation(record::Op op, uint64_t& stack) {
    using record::Op;
    uint64_t n;
    switch (op) {
      case Op::kTime:
        if (!number(n)) return false;
        found_.ticks += n;
        return true;
      case Op::kFree: ++found_.events; return pass(1);
      case Op::kMalloc:
      case Op::kResize: ++found_.events; return pass(2);
      case Op::kMallocAt: ++found_.events; return pass(1) && pass_bytes(8);
      case Op::kKind: {
        if (at_ == end_) return false;
        const bool is_aligned = *at_++ == static_cast<uint8_t>(record::Kind::kAligned);
        return !is_aligned || pass_bytes(1);
      }
      case Op::kStackIs: return number(stack) && number(n) && n <= record::kMostFrames && pass(n);
      case Op::kMark:
      case Op::kName:
      case Op::kTag: return number(n) && pass_bytes(n);
      case Op::kLost:
        if (!number(n)) return false;
        found_.lost += n;
        return true;
      case Op::kFigures: return number(n) && n <= 64 && pass(n);
      case Op::kTakeover:
      case Op::kRunIs:
      case Op::kCut: return pass(3);
      case Op::kSync:
      case Op::kStack:
      case Op::kRunGone:
      case Op::kPurged: return pass(1);
      case Op::kEnd: return true;
    }
    return false;
  }

  const uint8_t* at_;
  const uint8_t* end_;
  Skimmed found_;
};

}  // namespace acre::trace
