// Bytes as text (RFC 4648). The bytes may come in parts of any size.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::live {

class Base64 {
 public:
  static constexpr size_t most_text(size_t bytes) { return bytes / 3 * 4 + 4; }
  static constexpr size_t kMostRest = 4;

  // Writes the complete digits so far, at most most_text(bytes), without a terminating 0. Returns their number.
  size_t add(const char* data, size_t bytes, char* text) {
    size_t size = 0;
    for (; bytes != 0; --bytes) {
      bits_ = bits_ << 8 | static_cast<unsigned char>(*data++);
      for (count_ += 8; count_ >= 6; ++written_) text[size++] = digit(bits_ >> (count_ -= 6));
    }
    return size;
  }

  // Writes the remaining digits, at most kMostRest. Returns their number.
  size_t finish(char* text) {
    size_t size = 0;
    if (count_ != 0) text[size++] = digit(bits_ << (6 - count_));
    while ((written_ + size) % 4 != 0) text[size++] = '=';
    return size;
  }

 private:
  static char digit(uint32_t value) {
    return "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"[value & 63];
  }

  uint32_t bits_ = 0;
  unsigned count_ = 0;  // of the bits that are not written yet
  size_t written_ = 0;
};

}  // namespace acre::live
