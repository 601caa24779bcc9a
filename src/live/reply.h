// The answer to a request: a line `ok`, a body, a byte of 0; or a line `error: …`, a byte of 0. A connection that ends
// without that byte was cut off.
#pragma once

#include <cstddef>
#include <cstdint>

#include "os/os.h"

namespace acre::live {

class Reply {
 public:
  // socket: one that never blocks. A client that takes nothing for kPatienceMs, or has not taken all by end_ms
  // (os::now_ms), which is kMostMs after its request was there, has lost: the rest is dropped.
  static constexpr uint64_t kPatienceMs = 2000;
  static constexpr uint64_t kMostMs = 10000;
  Reply(int socket, uint64_t end_ms) : socket_(socket), end_ms_(end_ms) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // A part of the body, as WriteText (control/output.h).
  static void write(void* reply, const char* text);
  void add(const char* data, size_t bytes);  // no byte of 0 among them

  // Instead of a body. Afterwards the reply is done.
  void refuse(const char* message);

  void finish();

  // What was asked for took long before there was anything to say: the client has kMostMs from now on.
  void extend() { end_ms_ = os::now_ms() + kMostMs; }

  // Whether a part of the body was written; and what went wrong after that, where the client sees the end cut off.
  bool has_begun() const { return begun_; }
  void cut_off() { lost_ = true; }

  // Nobody reads it any more.
  bool lost() const { return lost_; }

 private:
  void send(const char* data, size_t bytes);
  void begin();

  int socket_;
  uint64_t end_ms_;
  bool begun_ = false;
  bool done_ = false;
  bool lost_ = false;
};

}  // namespace acre::live
