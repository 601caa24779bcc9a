// A client's request: one line with a VERB, for some verbs a NAME, and the rest of the line.
#pragma once

#include <cstddef>

namespace acre::live {

// With the end of line. A path fits in as a value (tables/options.h: kMostPath).
inline constexpr size_t kMostRequest = 2048;

struct Request {
  const char* verb = "";
  const char* name = "";
  const char* value = "";  // the rest of the line, without blanks at its ends
};

// Collects a line from the parts in which it arrives.
class RequestLine {
 public:
  enum class State { kMore, kWhole, kTooLong };

  // Drops what comes after the end of line. Call it until it returns another state than kMore.
  State add(const char* data, size_t bytes);
  void clear() { size_ = 0; }

  // The whole line without its end. The caller may change it.
  char* text() { return text_; }

 private:
  size_t size_ = 0;
  char text_[kMostRequest];  // not initialized: most of it is never touched
};

// Cuts a line into the parts of a request, which point into the line. Returns null, or what is wrong with the line.
const char* parse(char* line, Request* request);

}  // namespace acre::live
