// Text without allocation.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

// Appends to the caller's buffer, which always ends in a null byte. Text that does not fit is cut off.
class Text {
 public:
  Text(char* buffer, size_t capacity) : buffer_(buffer), capacity_(capacity) { buffer_[0] = '\0'; }

  Text& add(const char* s);
  Text& add(char c);
  Text& decimal(uint64_t n);
  Text& signed_decimal(int64_t n);
  Text& hex(uint64_t n);                              // with 0x
  Text& hex_digits(unsigned char byte);               // two
  Text& fixed(uint64_t numerator, uint64_t denominator, unsigned digits);  // rounded down; "-" for x / 0
  Text& bytes(uint64_t n);                            // for people: "12.5 MiB"
  Text& right(uint64_t n, unsigned width);            // decimal, padded with spaces on the left

  const char* c_str() const { return buffer_; }
  size_t size() const { return size_; }
  void clear() { size_ = 0; buffer_[0] = '\0'; }

 private:
  char* buffer_;
  size_t capacity_;
  size_t size_ = 0;
};

template <size_t N>
class Line : public Text {
 public:
  Line() : Text(storage_, N) {}

 private:
  char storage_[N];
};

// Writes all of it, also after signals. Ignores errors, keeps errno.
void write_all(int fd, const char* data, size_t size);

}  // namespace acre
