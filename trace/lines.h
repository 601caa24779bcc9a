// Lines of a text file that may be compressed, by zstd or gzip.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace acre::trace {

class Lines {
 public:
  Lines();
  ~Lines();
  Lines(const Lines&) = delete;
  Lines& operator=(const Lines&) = delete;

  // "-" is stdin. False: see error().
  bool open(const std::string& path);
  // Without its end. False: there are no more, or error() says what is damaged. Holds until the next call.
  bool next(std::string_view& line);

  uint64_t number() const { return number_; }  // of the last line, 1 …
  const std::string& error() const { return error_; }

 private:
  bool fill();

  struct Source;
  std::unique_ptr<Source> source_;
  std::string buffer_;
  size_t at_ = 0;
  uint64_t number_ = 0;
  bool is_over_ = false;
  std::string error_;
};

}  // namespace acre::trace
