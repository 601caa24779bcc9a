#include "live/request.h"

namespace acre::live {

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

char* after_blanks(char* at) {
  while (is_blank(*at)) ++at;
  return at;
}

// Ends the word that begins here, and returns what comes after it.
char* end_word(char* at) {
  while (*at != '\0' && !is_blank(*at)) ++at;
  if (*at == '\0') return at;
  *at = '\0';
  return after_blanks(at + 1);
}

}  // namespace

RequestLine::State RequestLine::add(const char* data, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    text_[size_] = '\0';
    if (data[i] == '\n') return State::kWhole;
    if (size_ + 1 == sizeof text_) return State::kTooLong;
    // A byte of 0 would hide what follows. It is replaced by a byte that no request may have either.
    text_[size_++] = data[i] == '\0' ? '\x7f' : data[i];
  }
  text_[size_] = '\0';
  return State::kMore;
}

const char* parse(char* line, Request* request) {
  char* end = line;
  for (; *end != '\0'; ++end) {
    const unsigned char c = static_cast<unsigned char>(*end);
    if ((c < ' ' && c != '\t' && !(c == '\r' && end[1] == '\0')) || c == 0x7f)
      return "a request has no control characters";
  }
  while (end != line && (is_blank(end[-1]) || end[-1] == '\r')) *--end = '\0';
  char* at = after_blanks(line);
  if (*at == '\0') return "a request begins with a verb; `info` names them";
  request->verb = at;
  at = end_word(at);
  request->name = at;
  request->value = end_word(at);
  return nullptr;
}

}  // namespace acre::live
