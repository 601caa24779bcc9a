#include "decode.h"

#include <cstring>

namespace acre::trace {

using record::Kind;
using record::Op;

const char* name_of(What what) {
  constexpr const char* kNames[] = {"allocate", "free",    "resize", "takeover", "sync",   "stack", "mark", "name",
                                    "tag",      "lost",    "figures", "run",     "run gone", "purged", "cut",  "end"};
  return kNames[static_cast<size_t>(what)];
}

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"plain", "zeroed", "aligned", "realloc-from", "realloc-to", "sized"};
  return kNames[static_cast<size_t>(kind)];
}

Decoder::Decoder() : slots_(size_t{1} << record::kSlotsLog2) {}

void Decoder::begin(std::span<const uint8_t> events, uint64_t start_ticks, uint64_t seen) {
  begin_ = at_ = events.data();
  end_ = begin_ + events.size();
  error_ = nullptr;
  ticks_ = start_ticks;
  seen_ = seen;
  last_free_ = last_run_ = 0;
  last_.fill(0);
  slots_.assign(slots_.size(), Slot{0, 0, false});
}

bool Decoder::fail(const char* why) {
  error_ = why;
  return false;
}

bool Decoder::byte(uint8_t& to) {
  if (at_ == end_) return fail("the block ends within an event");
  to = *at_++;
  return true;
}

bool Decoder::number(uint64_t& to) {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint8_t part;
    if (!byte(part)) return false;
    if (shift == 63 && part > 1) return fail("a number has more than 64 bits");
    value |= static_cast<uint64_t>(part & 0x7f) << shift;
    if ((part & 0x80) == 0) break;
  }
  to = value;
  return true;
}

bool Decoder::text(Event& event) {
  uint64_t length;
  if (!number(length)) return false;
  if (length > record::kMostText) return fail("a text is too long");
  if (length > static_cast<uint64_t>(end_ - at_)) return fail("the block ends within a text");
  event.text = {reinterpret_cast<const char*>(at_), length};
  at_ += length;
  return true;
}

bool Decoder::allocate(Event& event, uint64_t size) {
  const unsigned context = record::context_of(size);
  uint64_t units;
  if (!number(units)) return false;
  // The last one may have been no multiple of the unit, by kMallocAt.
  const unsigned unit = record::unit_log2(context);
  const uint64_t below = (uint64_t{1} << unit) - 1;
  last_[context] = (last_[context] + (static_cast<uint64_t>(record::unfold(units)) << unit) + below) & ~below;
  event.address = last_[context];
  slots_[record::slot_of(event.address)] = {event.address, static_cast<uint8_t>(context), true};
  event.what = What::kAllocate;
  event.size = size;
  return true;
}

bool Decoder::next(Event& event) {
  if (error_ != nullptr || at_ == end_) return false;
  const uint8_t* const start = at_;
  event.kind = Kind::kPlain;
  event.align_log2 = 0;
  event.stack = kNoStack;
  event.address = event.size = 0;
  event.list.clear();
  event.text = {};
  event.offset = offset();
  bool complete = false, has_prefix = false;
  while (!complete) {
    if (at_ == end_) {
      if (!has_prefix) return false;  // only times stood there
      return fail("the block ends before the event that a kind or stack belongs to");
    }
    const uint8_t first = *at_++;
    if (first < 0x80) {
      uint8_t more;
      if (!byte(more)) break;
      const unsigned index = first | static_cast<unsigned>(more & 0x7f) << 7;
      if (index >= slots_.size()) {
        fail("a slot of recent blocks has too large a number");
        break;
      }
      Slot& slot = slots_[index];
      if (!slot.used) {
        fail("a slot of recent blocks is empty");
        break;
      }
      slot.used = false;
      last_[slot.context] = slot.address;
      last_free_ = slot.address;
      event.what = What::kFree;
      if (more >= 0x80) event.kind = Kind::kSized;
      event.address = slot.address;
      complete = true;
    } else if (first < 0xc0) {
      uint8_t more;
      if (!byte(more) || !allocate(event, (first & 0x3f) | static_cast<uint64_t>(more) << 6)) break;
      complete = true;
    } else {
      const Op op = static_cast<Op>(first & 0x3f);
      if (!operation(event, op, complete)) break;
      if (op == Op::kKind || op == Op::kStack) has_prefix = true;
      if (complete && has_prefix && !is_of_block(event.what)) {
        fail("a kind or stack stands before what is no allocation, free or resize");
        break;
      }
    }
  }
  if (error_ != nullptr) {
    at_ = start;
    return false;
  }
  event.ticks = ticks_;
  return true;
}

bool Decoder::operation(Event& event, Op op, bool& complete) {
  uint64_t n;
  uint8_t small;
  complete = true;
  switch (op) {
    case Op::kTime:
      complete = false;
      if (!number(n)) return false;
      ticks_ += n;
      return true;
    case Op::kFree:
    case Op::kResize:
      if (!number(n)) return false;
      last_free_ += static_cast<uint64_t>(record::unfold(n)) << 3;
      event.address = last_free_;
      event.what = op == Op::kFree ? What::kFree : What::kResize;
      return op == Op::kFree || number(event.size);
    case Op::kMalloc: return number(n) && allocate(event, n);
    case Op::kMallocAt: {
      if (!number(n)) return false;
      if (end_ - at_ < 8) return fail("the block ends within an address");
      memcpy(&event.address, at_, 8);
      at_ += 8;
      const unsigned context = record::context_of(n);
      slots_[record::slot_of(event.address)] = {event.address, static_cast<uint8_t>(context), true};
      event.what = What::kAllocate;
      event.size = n;
      return true;
    }
    case Op::kKind:
      complete = false;
      if (!byte(small)) return false;
      if (small > static_cast<uint8_t>(Kind::kSized)) return fail("there is no such kind");
      event.kind = static_cast<Kind>(small);
      if (event.kind != Kind::kAligned) return true;
      if (!byte(event.align_log2)) return false;
      return event.align_log2 < 64 || fail("an alignment is too large");
    case Op::kTakeover:
      event.what = What::kTakeover;
      if (!number(event.numbers[0]) || !number(event.numbers[1]) || !number(n)) return false;
      if (event.numbers[0] >> record::kShardsLog2 != 0) return fail("a shard has too large a number");
      seen_ += n;
      event.numbers[2] = seen_;
      return true;
    case Op::kSync:
      event.what = What::kSync;
      if (!number(n)) return false;
      seen_ += n;
      event.numbers[0] = seen_;
      return true;
    case Op::kStack: complete = false; return number(event.stack);
    case Op::kStackIs: {
      event.what = What::kStackIs;
      uint64_t count;
      if (!number(event.numbers[0]) || !number(count)) return false;
      if (count > record::kMostFrames) return fail("a stack has too many frames");
      uint64_t frame = 0;
      for (uint64_t i = 0; i < count; ++i) {
        if (!number(n)) return false;
        frame += static_cast<uint64_t>(record::unfold(n));
        event.list.push_back(frame);
      }
      return true;
    }
    case Op::kMark: event.what = What::kMark; return text(event);
    case Op::kName: event.what = What::kName; return text(event);
    case Op::kTag: event.what = What::kTag; return text(event);
    case Op::kLost: event.what = What::kLost; return number(event.numbers[0]);
    case Op::kFigures: {
      event.what = What::kFigures;
      uint64_t count;
      if (!number(count)) return false;
      if (count > 64) return fail("there are too many figures");
      for (uint64_t i = 0; i < count; ++i) {
        if (!number(n)) return false;
        event.list.push_back(n);
      }
      return true;
    }
    case Op::kRunIs:
    case Op::kRunGone:
      event.what = op == Op::kRunIs ? What::kRunIs : What::kRunGone;
      if (!number(n)) return false;
      last_run_ += static_cast<uint64_t>(record::unfold(n));
      event.address = last_run_ << 12;
      return op == Op::kRunGone || (number(event.numbers[0]) && number(event.numbers[1]));
    case Op::kPurged: event.what = What::kPurged; return number(event.numbers[0]);
    case Op::kCut:
      event.what = What::kCut;
      return number(event.numbers[0]) && number(event.numbers[1]) && number(event.numbers[2]);
    case Op::kEnd: event.what = What::kEnd; return true;
  }
  return fail("there is no such event");
}

}  // namespace acre::trace
