// A file, or whatever else takes bytes, that is written from front to back, through a buffer of its own. The first error
// ends it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::report {

// Who takes the bytes of what is no file. Returns 0 or an error number.
struct Sink {
  int (*take)(void* opaque, const char* data, size_t bytes);
  void* opaque;
};

class Output {
 public:
  // Creates the file, or empties it. buffer: for as long as this lives.
  Output(const char* path, char* buffer, size_t capacity);
  // An open file, which stays open.
  Output(int file, char* buffer, size_t capacity);
  Output(Sink sink, char* buffer, size_t capacity);
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  void add(const void* data, size_t bytes);
  void add(const char* text);

  // What is not written yet is dropped, as is what comes.
  void fail(int error);

  // Writes what is left and closes the file that this has made. 0 or an error number, of this or anything before.
  int finish();

 private:
  void flush();

  long file_ = -1;
  bool is_ours_ = true;
  Sink sink_ = {};
  int error_ = 0;
  char* buffer_;
  size_t capacity_;
  size_t size_ = 0;
};

// gzip's format (RFC 1952) around blocks that are not compressed (RFC 1951): what reads profiles expects it.
class Gzip {
 public:
  // block: for as long as this lives.
  Gzip(Output& to, char* block, size_t capacity);
  void add(const void* data, size_t bytes);
  void finish();

 private:
  static constexpr size_t kMostInBlock = 65535;

  void end_block(bool last);

  Output& to_;
  char* block_;
  size_t capacity_;
  size_t size_ = 0;
  uint32_t crc_ = ~uint32_t{0};
  uint32_t total_ = 0;
};

}  // namespace acre::report
