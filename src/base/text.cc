#include "base/text.h"

#include "base/syscall.h"

namespace acre {

Text& Text::add(char c) {
  if (size_ + 1 < capacity_) {
    buffer_[size_++] = c;
    buffer_[size_] = '\0';
  }
  return *this;
}

Text& Text::add(const char* s) {
  for (; *s != '\0'; ++s) add(*s);
  return *this;
}

Text& Text::decimal(uint64_t n) {
  char digits[20];
  unsigned count = 0;
  do {
    digits[count++] = static_cast<char>('0' + n % 10);
    n /= 10;
  } while (n != 0);
  while (count != 0) add(digits[--count]);
  return *this;
}

Text& Text::signed_decimal(int64_t n) {
  if (n >= 0) return decimal(static_cast<uint64_t>(n));
  return add('-').decimal(~static_cast<uint64_t>(n) + 1);
}

Text& Text::right(uint64_t n, unsigned width) {
  unsigned digits = 1;
  for (uint64_t rest = n / 10; rest != 0; rest /= 10) ++digits;
  for (; digits < width; ++digits) add(' ');
  return decimal(n);
}

static constexpr char kHexDigits[] = "0123456789abcdef";

Text& Text::hex_digits(unsigned char byte) { return add(kHexDigits[byte >> 4]).add(kHexDigits[byte & 15]); }

Text& Text::hex(uint64_t n) {
  add("0x");
  unsigned shift = 60;
  while (shift != 0 && (n >> shift) == 0) shift -= 4;
  for (;; shift -= 4) {
    add(kHexDigits[(n >> shift) & 15]);
    if (shift == 0) return *this;
  }
}

Text& Text::fixed(uint64_t numerator, uint64_t denominator, unsigned digits) {
  if (denominator == 0) return add('-');
  decimal(numerator / denominator);
  if (digits != 0) add('.');
  uint64_t rest = numerator % denominator;
  for (; digits != 0; --digits) {
    rest *= 10;
    add(static_cast<char>('0' + rest / denominator));
    rest %= denominator;
  }
  return *this;
}

Text& Text::bytes(uint64_t n) {
  static constexpr const char* kUnits[] = {" B", " KiB", " MiB", " GiB", " TiB"};
  unsigned unit = 0;
  uint64_t scale = 1;
  while (unit < 4 && n / scale >= 1024) {
    scale *= 1024;
    ++unit;
  }
  if (unit == 0) return decimal(n).add(kUnits[0]);
  return fixed(n, scale, 1).add(kUnits[unit]);
}

void write_all(int fd, const char* data, size_t size) {
  constexpr long kInterrupted = -4;  // EINTR
  while (size != 0) {
    long written = raw_syscall(SYS_write, fd, reinterpret_cast<long>(data), static_cast<long>(size));
    if (written == kInterrupted) continue;
    if (written <= 0) return;
    data += written;
    size -= static_cast<size_t>(written);
  }
}

}  // namespace acre
