// Reads numbers in the form that unwinding tables have, from one range of memory and nothing outside it.
#pragma once

#include <string.h>

#include "base/units.h"

namespace acre::frame_rows {

// Reads from front to back. A read beyond the end gives 0; the reader has then failed, and is at its end.
class Reader {
 public:
  Reader(Address at, Address end) : at_(at), end_(at <= end ? end : at) {}

  bool is_at_end() const { return at_ == end_; }
  bool has_failed() const { return failed_; }
  Address at() const { return at_; }
  uint64_t left() const { return end_ - at_; }

  template <class Number>
  Number number() {
    Number n = 0;
    if (left() < sizeof n) {
      fail();
      return 0;
    }
    memcpy(&n, pointer_to(at_), sizeof n);
    at_ += sizeof n;
    return n;
  }
  uint8_t byte() { return number<uint8_t>(); }
  // The next four bytes, without moving on. 0 if fewer are left.
  uint32_t next_four() const {
    uint32_t n = 0;
    if (left() >= sizeof n) memcpy(&n, pointer_to(at_), sizeof n);
    return n;
  }

  // LEB128, without bits beyond 64. The signed result is in two's complement.
  uint64_t unsigned_leb() {
    unsigned bits;
    return leb(&bits);
  }
  uint64_t signed_leb() {
    unsigned bits;
    const uint64_t n = leb(&bits);
    return bits < kBitsOfWord && (n >> (bits - 1) & 1) != 0 ? n | ~uint64_t{0} << bits : n;
  }

  void pass(uint64_t bytes) { at_ += bytes; }  // so many must be left
  void skip(uint64_t bytes) { part(bytes); }
  Reader part(uint64_t bytes) {
    if (left() < bytes) fail();
    const Address at = at_;
    at_ += smaller(bytes, left());
    return {at, at_};
  }
  void fail() {
    failed_ = true;
    at_ = end_;
  }

 private:
  static constexpr unsigned kBitsOfWord = 64;

  uint64_t leb(unsigned* bits) {
    constexpr unsigned kBitsOfByte = 7;
    constexpr uint8_t kMore = 0x80;
    uint64_t n = 0;
    uint8_t part;
    *bits = 0;
    do {
      part = byte();
      if (*bits < kBitsOfWord) n |= static_cast<uint64_t>(part & (kMore - 1)) << *bits;
      *bits += kBitsOfByte;
    } while ((part & kMore) != 0);
    return n;
  }

  Address at_;
  Address end_;
  bool failed_ = false;
};

}  // namespace acre::frame_rows
