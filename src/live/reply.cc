#include "live/reply.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "os/socket.h"

namespace acre::live {

// Waits until the client takes more.
bool Reply::can_go_on() {
  constexpr uint64_t kTurnMs = 100;  // between two looks whether the thread has to end
  const uint64_t end_ms = smaller(os::now_ms() + kPatienceMs, end_ms_);
  for (uint64_t now_ms; (now_ms = os::now_ms()) < end_ms;) {
    if (os::wait_for(socket_, os::Direction::kWrite, smaller(kTurnMs, end_ms - now_ms))) return true;
    if (ends_ != nullptr && ends_->load(std::memory_order_relaxed) != 0) return false;
  }
  return false;
}

void Reply::send(const char* data, size_t bytes) {
  while (bytes != 0 && !lost_) {
    const long sent = os::send(socket_, data, bytes);
    if (sent > 0) {
      data += sent;
      bytes -= static_cast<size_t>(sent);
    } else if (sent == -EAGAIN) {
      lost_ = !can_go_on();
    } else if (sent != -EINTR) {
      lost_ = true;
    }
  }
}

void Reply::begin() {
  if (!begun_) send("ok\n", 3);
  begun_ = true;
}

void Reply::write(void* reply, const char* text) {
  static_cast<Reply*>(reply)->add(text, strlen(text));
}

void Reply::add(const char* data, size_t bytes) {
  if (done_) return;
  begin();
  send(data, bytes);
}

void Reply::refuse(const char* message) {
  if (done_ || begun_) return;
  send("error: ", 7);
  send(message, strlen(message));
  send("\n", 2);  // and the byte of 0
  done_ = true;
}

void Reply::finish() {
  if (done_) return;
  begin();
  send("", 1);
  done_ = true;
}

}  // namespace acre::live
