// A message of protocol buffers, as far as profiles need them: fields of integers, texts and messages.
#pragma once

#include <string.h>

#include <cstddef>
#include <cstdint>

namespace acre::report {

// A message in a buffer of fixed size, whose user knows that its fields fit.
template <size_t kBytes>
class Message {
 public:
  static constexpr size_t kCapacity = kBytes;

  void integer(unsigned field, uint64_t value) {
    if (value == 0) return;  // what is left out is 0
    varint(field << 3 | kVarint);
    varint(value);
  }
  void bytes(unsigned field, const void* data, size_t size) {
    varint(field << 3 | kBytesFollow);
    varint(size);
    if (kBytes - size_ < size) __builtin_trap();
    memcpy(data_ + size_, data, size);
    size_ += size;
  }
  template <size_t kOther>
  void message(unsigned field, const Message<kOther>& other) {
    bytes(field, other.data(), other.size());
  }
  // Without a field's number, for packed integers.
  void varint(uint64_t value) {
    if (kBytes - size_ < kMostVarint) __builtin_trap();
    for (; value >= 0x80; value >>= 7) data_[size_++] = static_cast<unsigned char>(value | 0x80);
    data_[size_++] = static_cast<unsigned char>(value);
  }

  const unsigned char* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  enum { kVarint = 0, kBytesFollow = 2 };
  static constexpr size_t kMostVarint = 10;

  unsigned char data_[kBytes];
  size_t size_ = 0;
};

}  // namespace acre::report
