#include "live/clients.h"

#include <errno.h>

#include "live/authority.h"
#include "live/reply.h"
#include "live/verbs.h"
#include "os/socket.h"

namespace acre::live {

namespace {

static_assert(kMostRequest == 2048);
constexpr const char* kTooLong = "a request is a line of at most 2047 bytes";
constexpr const char* kTooLate = "no whole line came within a second";
constexpr const char* kTooMany = "16 clients have connected after this one, which had not said a whole line by then";
static_assert(Clients::kMost == 16 && Clients::kRequestMs == 1000);

void hang_up(int& socket) {
  os::close_file(socket);
  socket = -1;
}

// A refusal has its place in the socket's buffer. Nobody waits for a client that is refused.
void refuse(int& socket, const char* why) {
  Reply(socket, 0).refuse(why);
  hang_up(socket);
}

}  // namespace

Clients::~Clients() {
  for (Client& client : clients_) {
    if (client.socket >= 0) hang_up(client.socket);
  }
}

// A place that is free, or the client that has stayed longest.
Clients::Client& Clients::first() {
  Client* first = &clients_[0];
  for (Client& client : clients_) {
    if (client.socket < 0) return client;
    if (client.end_ms < first->end_ms) first = &client;
  }
  return *first;
}

// Whether the client may ask is checked before anything is read from it, and again when its request is complete: the
// ids of the process may have changed meanwhile. What the client has said already is read at once.
void Clients::accept(int listener, Client& client) {
  const long made = os::accept_client(listener);
  if (made < 0 && made != -EAGAIN && made != -ECONNABORTED) listen_again_ms_ = os::now_ms() + kRefusedMs;
  if (made < 0) return;
  if (client.socket >= 0) refuse(client.socket, kTooMany);
  client.socket = static_cast<int>(made);
  if (const char* why = why_not(client.socket)) return refuse(client.socket, why);
  client.end_ms = os::now_ms() + kRequestMs;
  client.line.clear();
  read(client);
}

void Clients::read(Client& client) {
  for (;;) {
    char part[256];
    const long got = os::receive(client.socket, part, sizeof part);
    if (got == -EAGAIN || got == -EINTR) return;
    if (got <= 0) return hang_up(client.socket);  // it says no more
    const RequestLine::State state = client.line.add(part, static_cast<size_t>(got));
    if (state == RequestLine::State::kMore) continue;
    if (state == RequestLine::State::kTooLong) return refuse(client.socket, kTooLong);
    if (const char* why = why_not(client.socket)) return refuse(client.socket, why);
    Reply reply(client.socket, os::now_ms() + Reply::kMostMs, &ends_);
    answer(client.line.text(), reply);
    return hang_up(client.socket);
  }
}

void Clients::expire(uint64_t now_ms) {
  for (Client& client : clients_) {
    if (client.socket >= 0 && now_ms >= client.end_ms) refuse(client.socket, kTooLate);
  }
}

void Clients::attend(int listener, uint64_t ms) {
  int sockets[kMost + 1];
  const uint64_t before_ms = os::now_ms();
  uint64_t end_ms = before_ms + ms;
  for (unsigned i = 0; i < kMost; ++i) {
    sockets[i] = clients_[i].socket;
    if (sockets[i] >= 0) end_ms = smaller(end_ms, clients_[i].end_ms);
  }
  const Client& leaver = first();
  const uint64_t leaves_ms = leaver.socket < 0 ? 0 : leaver.end_ms - kRequestMs + kLeastMs;
  const uint64_t has_place_at_ms = larger(leaves_ms, listen_again_ms_);
  const bool has_place = before_ms >= has_place_at_ms;
  if (!has_place) end_ms = smaller(end_ms, has_place_at_ms);
  sockets[kMost] = has_place ? listener : -1;
  const uint32_t readable = os::wait_for_any(sockets, kMost + 1, end_ms > before_ms ? end_ms - before_ms : 0);
  const uint64_t now_ms = os::now_ms();  // a long answer to one client takes no other client's time
  for (unsigned i = 0; i < kMost; ++i) {
    if ((readable >> i & 1) != 0 && !wants_end()) read(clients_[i]);
  }
  expire(now_ms);
  if ((readable >> kMost & 1) != 0 && !wants_end()) accept(listener, first());
}

}  // namespace acre::live
