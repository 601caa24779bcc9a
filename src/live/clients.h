// The clients that have connected and whose requests are on their way: a bounded number, each with a bounded request
// and a bounded time. A client that says nothing, or a byte now and then, keeps no other client waiting.
#pragma once

#include <atomic>
#include <cstdint>

#include "live/request.h"

namespace acre::live {

class Clients {
 public:
  static constexpr unsigned kMost = 16;
  static constexpr uint64_t kRequestMs = 1000;  // from the connection to the end of the request
  // So long a client stays at least. Where kMost have connected, one that has stayed longer goes for the next one; while
  // there is none, the next one waits. So a flood takes little of a processor.
  static constexpr uint64_t kLeastMs = 20;
  static constexpr uint64_t kRefusedMs = 100;  // pause after the system refused a descriptor: the client waits on

  // *ends becomes 1 when the thread has to end.
  explicit Clients(const std::atomic<uint32_t>& ends) : ends_(ends) {}
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;
  ~Clients();

  // Waits for so many milliseconds at most for a client at the listening socket or for a part of a request. Serves every
  // client whose request is complete, one after the other, and gives up those whose time is over.
  void attend(int listener, uint64_t ms);

 private:
  struct Client {
    int socket = -1;  // of nobody
    uint64_t end_ms = 0;
    RequestLine line;
  };

  void accept(int listener, Client& client);
  void read(Client& client);
  void expire(uint64_t now_ms);
  Client& first();
  bool wants_end() const { return ends_.load(std::memory_order_relaxed) != 0; }

  const std::atomic<uint32_t>& ends_;
  Client clients_[kMost];
  uint64_t listen_again_ms_ = 0;
};

}  // namespace acre::live
