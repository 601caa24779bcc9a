// A recording that is read from its beginning to its end by a command: its events in order, how far it is on a
// terminal's stderr, and lines about what is damaged.
#pragma once

#include <memory>
#include <string>

#include "file.h"
#include "order.h"

namespace acre::trace {

// Where it lies and what it is.
std::string text_of(const Problem& problem);
// Lines about what a command leaves out of a recording. problems: how many, with the text of the first.
void say_damage(const char* command, const std::string& path, const Reader& reader, uint64_t problems,
                const std::string& first);

class Recording {
 public:
  // False: a line has said why.
  bool open(const std::string& path);

  Reader& reader() { return reader_; }
  const Order& order() const { return *order_; }
  const Clock& clock() const { return *clock_; }

  // The event holds until the next call.
  bool next(Merged& merged);
  double seconds(const Merged& merged) const { return clock_->seconds(merged.event->ticks); }

  // Flushes stdout, and says what was left out. -> the exit code
  int finish();

 private:
  void show_progress();
  void clear_progress();

  Reader reader_;
  std::unique_ptr<Order> order_;
  std::unique_ptr<Clock> clock_;
  std::string path_;
  uint64_t problems_ = 0;
  std::string first_problem_;
  uint64_t events_ = 0, all_events_ = 0;  // of blocks
  uint64_t begin_ns_ = 0;
  bool is_on_terminal_ = false, is_shown_ = false;
};

}  // namespace acre::trace
