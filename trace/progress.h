// A line on a terminal's stderr that is written over: how far a command has come.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace acre::trace {

class Progress {
 public:
  explicit Progress(const char* command) : command_(command) {}
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  ~Progress() { clear(); }

  // part: of 1. The text is kept: a literal.
  void say(const char* what, double part) {
    const int percent = static_cast<int>(100 * std::clamp(part, 0.0, 1.0));
    if (!shows_ || (percent == percent_ && what == what_)) return;
    percent_ = percent;
    what_ = what;
    fprintf(stderr, "\r\033[Kacre %s: %s %d %%", command_, what, percent);
  }
  void clear() {
    if (what_ != nullptr) fputs("\r\033[K", stderr);
    what_ = nullptr;
  }

 private:
  const bool shows_ = isatty(STDERR_FILENO) != 0;
  const char* const command_;
  int percent_ = -1;
  const char* what_ = nullptr;
};

}  // namespace acre::trace
