#include "live/reply.h"

#include <errno.h>
#include <string.h>

#include "base/units.h"
#include "os/socket.h"

namespace acre::live {

void Reply::send(const char* data, size_t bytes) {
  while (bytes != 0 && !lost_) {
    const long sent = os::send(socket_, data, bytes);
    if (sent > 0) {
      data += sent;
      bytes -= static_cast<size_t>(sent);
    } else if (sent == -EAGAIN) {
      const uint64_t now = os::now_ms();
      lost_ = now >= end_ms_ || !os::wait_for(socket_, os::Direction::kWrite, smaller(kPatienceMs, end_ms_ - now));
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
