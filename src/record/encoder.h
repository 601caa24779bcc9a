// Writes events into a lane's block (format.h). Processors are little-endian, as the format is.
#pragma once

#include <string.h>

#include "base/bits.h"
#include "base/compiler.h"
#include "base/units.h"
#include "record/format.h"

namespace acre::record {

class Encoder {
  static constexpr size_t kBytesPerTime = 128;  // a time is written after so many bytes of events

 public:
  // A block begins: `at` is where its first event goes.
  void begin(uint8_t* at, uint64_t ticks, uint64_t seen) {
    start_ = at_ = at;
    full_ = at + (kEventBytes - kMostEvent);
    stop_ = at;
    ticks_ = ticks;
    seen_ = seen;
    last_free_ = 0;
    last_run_ = 0;
    memset(contexts_, 0, sizeof contexts_);
    memset(slots_, 0, sizeof slots_);
  }

  const uint8_t* at() const { return at_; }  // behind the events so far
  // Their bytes.
  uint32_t used() const { return static_cast<uint32_t>(at_ - start_); }
  // Whether any single event, or a group of small ones, fits.
  bool has_room() const { return at_ <= full_; }
  // Whether the time is to be written before the next event, or there is no room.
  bool is_at_stop() const { return at_ >= stop_; }
  const uint8_t* stop() const { return stop_; }
  bool is_below(const uint8_t* stop) const { return at_ < stop; }
  uint64_t seen() const { return seen_; }

  // Most allocations: allocated_usual() writes the same for them as allocated(), in fewer instructions.
  static bool is_usual(Address block, size_t n) { return n - (kUnit8 + 1) < kUnit16 - kUnit8 && is_aligned(block, 16); }

  ACRE_ALWAYS_INLINE void allocated_usual(Address block, size_t n) {
    const auto context = static_cast<unsigned>((n + 15) / 16);
    const auto first = static_cast<uint16_t>(n + 3 * (n & ~size_t{63}) + 0x80);
    uint8_t* at = at_;
    memcpy(at, &first, sizeof first);
    const auto away = static_cast<int64_t>(block - contexts_[context]);
    at = put_mostly_short(at + sizeof first, static_cast<uint64_t>(away >> 3 ^ away >> 63));
    keep(block, context);
    at_ = at;
  }

  ACRE_ALWAYS_INLINE void allocated(Address block, size_t n) {
    uint8_t* at = at_;
    const unsigned context = context_of(n);
    if (!is_aligned(block, 16) && (context != 0 || !is_aligned(block, 8))) {
      at = put(put_op(at, Op::kMallocAt), n);
      memcpy(at, &block, sizeof block);
      at_ = at + sizeof block;
      set_recent(block, context);
      return;
    }
    if (n < kShortMalloc) {
      const auto first = static_cast<uint16_t>(0x80 | (n & 63) | n >> 6 << 8);
      memcpy(at, &first, sizeof first);
      at += sizeof first;
    } else {
      at = put(put_op(at, Op::kMalloc), n);
    }
    const auto away = static_cast<int64_t>(block - contexts_[context]);
    at_ = put(at, fold(away >> unit_log2(context)));
    keep(block, context);
  }

  ACRE_ALWAYS_INLINE void freeing(Address block, bool is_sized = false) {
    uint8_t* at = at_;
    const unsigned slot = slot_of(block);
    if (ACRE_LIKELY(slots_[slot] == block)) {
      const auto bytes = static_cast<uint16_t>((slot & 0x7f) | slot >> 7 << 8 | unsigned{is_sized} << 15);
      memcpy(at, &bytes, sizeof bytes);
      at += sizeof bytes;
      slots_[slot] = 0;
      contexts_[contexts_of_slots_[slot]] = block;
    } else {
      if (is_sized) {
        kind(Kind::kSized, 0);
        at = at_;
      }
      at = put(put_op(at, Op::kFree), away_from_last_free(block));
    }
    last_free_ = block;
    at_ = at;
  }

  void resized(Address block, size_t n) {
    at_ = put(put(put_op(at_, Op::kResize), away_from_last_free(block)), n);
    last_free_ = block;
  }

  void kind(Kind kind, unsigned alignment_log2) {
    at_ = put_op(at_, Op::kKind);
    *at_++ = static_cast<uint8_t>(kind);
    if (kind == Kind::kAligned) *at_++ = static_cast<uint8_t>(alignment_log2);
  }

  void time(uint64_t ticks) {
    at_ = put(put_op(at_, Op::kTime), ticks - ticks_);
    ticks_ = ticks;
    stop_ = smaller(at_ + kBytesPerTime, full_ + 1);
  }

  void takeover(unsigned shard, uint64_t epoch, uint64_t number) {
    at_ = put(put(put(put_op(at_, Op::kTakeover), shard), epoch), number - seen_);
    seen_ = number;
  }

  void sync(uint64_t counter) {
    at_ = put(put_op(at_, Op::kSync), counter - seen_);
    seen_ = counter;
  }

  // Stands before an allocation or a resize.
  void stack(uint32_t number) { at_ = put(put_op(at_, Op::kStack), number); }

  void stack_is(uint32_t number, const Address* frames, unsigned count) {
    at_ = put(put(put_op(at_, Op::kStackIs), number), count);
    Address last = 0;
    for (unsigned i = 0; i < count; ++i) {
      at_ = put(at_, fold(static_cast<int64_t>(frames[i] - last)));
      last = frames[i];
    }
  }

  // Cut off after kMostText bytes.
  void mark(const char* text) { put_text(Op::kMark, text); }
  void name(const char* text) { put_text(Op::kName, text); }
  void tag(const char* text) { put_text(Op::kTag, text); }

  void cut(uint32_t lane, uint32_t block, uint32_t used) {
    at_ = put(put(put(put_op(at_, Op::kCut), lane), block), used);
  }

  void run_is(Address base, size_t pages, size_t block_bytes) {
    at_ = put(put(put(put_op(at_, Op::kRunIs), away_from_last_run(base)), pages), block_bytes);
  }
  void run_gone(Address base) { at_ = put(put_op(at_, Op::kRunGone), away_from_last_run(base)); }

  // values: Figure::kCount of them.
  void figures(const uint64_t* values) {
    constexpr auto kFigures = static_cast<unsigned>(Figure::kCount);
    at_ = put(put_op(at_, Op::kFigures), kFigures);
    for (unsigned i = 0; i < kFigures; ++i) at_ = put(at_, values[i]);
  }
  void purged(uint64_t pages) { at_ = put(put_op(at_, Op::kPurged), pages); }
  void lost(uint64_t events) { at_ = put(put_op(at_, Op::kLost), events); }

  void end() { at_ = put_op(at_, Op::kEnd); }

 private:
  // The block is the last one of its context, and in the table.
  ACRE_ALWAYS_INLINE void keep(Address block, unsigned context) {
    contexts_[context] = block;
    set_recent(block, context);
  }
  ACRE_ALWAYS_INLINE void set_recent(Address block, unsigned context) {
    const unsigned slot = slot_of(block);
    slots_[slot] = block;
    contexts_of_slots_[slot] = static_cast<uint8_t>(context);
  }

  static uint8_t* put_op(uint8_t* at, Op op) {
    *at = static_cast<uint8_t>(0xc0 | static_cast<unsigned>(op));
    return at + 1;
  }

  static ACRE_ALWAYS_INLINE uint8_t* put(uint8_t* at, uint64_t n) {
    while (n >= 0x80) {
      *at++ = static_cast<uint8_t>(n | 0x80);
      n >>= 7;
    }
    *at++ = static_cast<uint8_t>(n);
    return at;
  }

  // As put(). Whether one byte or two is often random, so no branch depends on it.
  static ACRE_ALWAYS_INLINE uint8_t* put_mostly_short(uint8_t* at, uint64_t n) {
    if (ACRE_UNLIKELY(n >= uint64_t{1} << 14)) return put(at, n);
    const uint64_t high = n >> 7;
    const unsigned has_two = high != 0;
    const auto bytes = static_cast<uint16_t>((n & 0x7f) | has_two << 7 | high << 8);
    memcpy(at, &bytes, sizeof bytes);
    return at + 1 + has_two;
  }

  uint64_t away_from_last_free(Address block) const { return fold(static_cast<int64_t>(block - last_free_) >> 3); }

  void put_text(Op op, const char* text) {
    const size_t length = smaller<size_t>(strlen(text), kMostText);
    at_ = put(put_op(at_, op), length);
    memcpy(at_, text, length);
    at_ += length;
  }

  uint64_t away_from_last_run(Address base) {
    const Address before = last_run_;
    last_run_ = base;
    return fold(static_cast<int64_t>(base - before) >> kPageShift);
  }

  uint8_t* at_ = nullptr;
  uint8_t* stop_ = nullptr;
  uint8_t* full_ = nullptr;
  uint8_t* start_ = nullptr;
  uint64_t ticks_ = 0;
  uint64_t seen_ = 0;
  Address last_free_ = 0;
  Address last_run_ = 0;
  Address contexts_[kContexts] = {};
  Address slots_[size_t{1} << kSlotsLog2] = {};  // 0: empty
  uint8_t contexts_of_slots_[size_t{1} << kSlotsLog2];
};

}  // namespace acre::record
