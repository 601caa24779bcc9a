#include "report/output.h"

#include <string.h>

#include "base/units.h"
#include "os/os.h"

namespace acre::report {

Output::Output(const char* path, char* buffer, size_t capacity)
    : file_(os::create_file(path)), buffer_(buffer), capacity_(capacity) {
  if (file_ < 0) error_ = static_cast<int>(-file_);
}

Output::Output(int file, char* buffer, size_t capacity)
    : file_(file), is_ours_(false), buffer_(buffer), capacity_(capacity) {}

Output::Output(Sink sink, char* buffer, size_t capacity) : sink_(sink), buffer_(buffer), capacity_(capacity) {}

void Output::add(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes != 0 && error_ == 0) {
    const size_t part = smaller(bytes, capacity_ - size_);
    memcpy(buffer_ + size_, from, part);
    size_ += part;
    from += part;
    bytes -= part;
    if (size_ == capacity_) flush();
  }
}

void Output::add(const char* text) { add(text, strlen(text)); }

void Output::flush() {
  if (error_ == 0) {
    error_ = sink_.take != nullptr ? sink_.take(sink_.opaque, buffer_, size_)
                                   : os::write_file(static_cast<int>(file_), buffer_, size_);
  }
  size_ = 0;
}

void Output::fail(int error) {
  if (error_ == 0) error_ = error;
}

int Output::finish() {
  flush();
  if (file_ >= 0 && is_ours_) os::close_file(static_cast<int>(file_));
  return error_;
}

namespace {

// CRC-32 of gzip, four bits at a time.
struct CrcTable {
  uint32_t entry[16];
  constexpr CrcTable() : entry() {
    constexpr uint32_t kPolynomial = 0xedb88320;
    for (uint32_t i = 0; i < 16; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 4; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
      entry[i] = value;
    }
  }
};

uint32_t extend_crc(uint32_t crc, const char* data, size_t bytes) {
  static constexpr CrcTable kTable;
  for (size_t i = 0; i < bytes; ++i) {
    crc ^= static_cast<unsigned char>(data[i]);
    crc = (crc >> 4) ^ kTable.entry[crc & 15];
    crc = (crc >> 4) ^ kTable.entry[crc & 15];
  }
  return crc;
}

void put_little_endian(unsigned char* to, uint32_t value, unsigned bytes) {
  for (unsigned i = 0; i < bytes; ++i) to[i] = static_cast<unsigned char>(value >> (8 * i));
}

}  // namespace

Gzip::Gzip(Output& to, char* block, size_t capacity)
    : to_(to), block_(block), capacity_(smaller(capacity, kMostInBlock)) {
  static constexpr unsigned char kHeader[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
  to_.add(kHeader, sizeof kHeader);
}

void Gzip::end_block(bool last) {
  unsigned char head[5];
  head[0] = last;
  put_little_endian(head + 1, static_cast<uint32_t>(size_), 2);
  put_little_endian(head + 3, ~static_cast<uint32_t>(size_), 2);
  to_.add(head, sizeof head);
  to_.add(block_, size_);
  crc_ = extend_crc(crc_, block_, size_);
  total_ += static_cast<uint32_t>(size_);
  size_ = 0;
}

void Gzip::add(const void* data, size_t bytes) {
  const char* from = static_cast<const char*>(data);
  while (bytes != 0) {
    const size_t part = smaller(bytes, capacity_ - size_);
    memcpy(block_ + size_, from, part);
    size_ += part;
    from += part;
    bytes -= part;
    if (size_ == capacity_) end_block(false);
  }
}

void Gzip::finish() {
  end_block(true);
  unsigned char tail[8];
  put_little_endian(tail, ~crc_, 4);
  put_little_endian(tail + 4, total_, 4);
  to_.add(tail, sizeof tail);
}

}  // namespace acre::report
