// What the player says: text in a fixed buffer, since it may not allocate.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace acre::trace::replay {

class Text {
 public:
  explicit Text(int file) : file_(file) {}
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;
  ~Text() { flush(); }

  Text& operator<<(const char* text) { return add(text, strlen(text)); }
  Text& operator<<(uint64_t value) {
    char digits[20];
    size_t at = sizeof digits;
    do {
      digits[--at] = static_cast<char>('0' + value % 10);
      value /= 10;
    } while (value != 0);
    return add(digits + at, sizeof digits - at);
  }
  // With nine digits behind the point.
  Text& nanoseconds(uint64_t ns) {
    *this << ns / 1'000'000'000 << ".";
    for (uint64_t unit = 100'000'000; unit != 0; unit /= 10) *this << ns / unit % 10;
    return *this;
  }
  Text& hex(uint64_t value) {
    for (int shift = 60; shift >= 0; shift -= 4) add(&"0123456789abcdef"[(value >> shift) & 15], 1);
    return *this;
  }

  bool flush() {
    for (size_t at = 0; at < used_ && well_;) {
      const ssize_t written = write(file_, buffer_ + at, used_ - at);
      well_ = written > 0;
      if (well_) at += static_cast<size_t>(written);
    }
    used_ = 0;
    return well_;
  }

 private:
  Text& add(const char* text, size_t bytes) {
    if (bytes > sizeof buffer_ - used_) flush();
    memcpy(buffer_ + used_, text, bytes < sizeof buffer_ ? bytes : 0);
    used_ += bytes < sizeof buffer_ ? bytes : 0;
    return *this;
  }

  int file_;
  bool well_ = true;
  size_t used_ = 0;
  char buffer_[4096];
};

}  // namespace acre::trace::replay
