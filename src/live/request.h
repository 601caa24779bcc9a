// What a client at the socket may say: one line, VERB, then for some verbs a NAME, then the rest of the line.
#pragma once

#include <cstddef>

namespace acre::live {

// With the end of line. A path as a value has room (tables/options.h: kMostPath).
inline constexpr size_t kMostRequest = 2048;

struct Request {
  const char* verb = "";
  const char* name = "";
  const char* value = "";  // the rest of the line, without blanks at its ends
};

// Collects a line from the parts in which it comes.
class RequestLine {
 public:
  enum class State { kMore, kWhole, kTooLong };

  // What comes after the end of line is dropped. To be called until it says something else than kMore.
  State add(const char* data, size_t bytes);

  // The line, without its end. It may be changed.
  char* text() { return text_; }

 private:
  size_t size_ = 0;
  char text_[kMostRequest] = {};
};

// Cuts a line into the request's parts, which lie in it. Null, or what is wrong with it.
const char* parse(char* line, Request* request);

}  // namespace acre::live
