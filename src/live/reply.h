// The answer to a request: the line `ok`, a body and a byte of 0; or a line `error: …` and a byte of 0. A connection
// that ends without this byte was cut off.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "os/os.h"

namespace acre::live {

class Reply {
 public:
  // socket: must never block. A client that takes nothing for kPatienceMs, or has not taken everything by end_ms
  // (os::now_ms), is lost: the rest is dropped. So is one that lets the thread wait while *ends is 1.
  static constexpr uint64_t kPatienceMs = 2000;
  static constexpr uint64_t kMostMs = 10000;  // for all of an answer
  Reply(int socket, uint64_t end_ms, const std::atomic<uint32_t>* ends = nullptr)
      : socket_(socket), end_ms_(end_ms), ends_(ends) {}
  Reply(const Reply&) = delete;
  Reply& operator=(const Reply&) = delete;

  // Adds a part of the body. write() is a WriteText (control/output.h).
  static void write(void* reply, const char* text);
  void add(const char* data, size_t bytes);  // without a byte of 0

  // Sends an error in place of a body, and finishes the reply. Does nothing once the body has begun.
  void refuse(const char* message);

  void finish();

  // Gives the client kMostMs from now on. For a request that took long before there was anything to send.
  void extend() { end_ms_ = os::now_ms() + kMostMs; }

  // has_begun(): part of the body was sent. cut_off(): something failed after that, and the client sees the body cut.
  bool has_begun() const { return begun_; }
  void cut_off() { lost_ = true; }

  // Returns true if the client does not read the reply any more.
  bool lost() const { return lost_; }

 private:
  void send(const char* data, size_t bytes);
  bool can_go_on();
  void begin();

  int socket_;
  uint64_t end_ms_;
  const std::atomic<uint32_t>* ends_;
  bool begun_ = false;
  bool done_ = false;
  bool lost_ = false;
};

}  // namespace acre::live
