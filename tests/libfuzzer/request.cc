// The control socket's requests: what a line is cut into, against a plain parser, however it arrives; and answers to any
// request, which are a body or one line of error with one byte of 0 at the end.
#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "input.h"
#include "live/request.h"
#include "live/reply.h"
#include "live/verbs.h"
#include "os/socket.h"

namespace acre::live {
namespace {

using acre::fuzz::Input;

struct Plain {
  bool sound = false;
  std::string verb, name, value;
};

Plain plain_parse(std::string line) {
  if (!line.empty() && line.back() == '\r') line.back() = ' ';
  for (const char c : line) {
    if ((static_cast<unsigned char>(c) < ' ' && c != '\t') || c == '\x7f') return {};
  }
  const auto word = [&line] {
    line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
    const std::string first = line.substr(0, line.find_first_of(" \t"));
    line.erase(0, first.size());
    return first;
  };
  Plain plain;
  plain.verb = word();
  plain.sound = !plain.verb.empty();
  plain.name = word();
  line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
  line.erase(line.find_last_not_of(" \t") + 1);
  plain.value = line;
  return plain;
}

// Those that make threads or files, look through all memory, or have the kernel open something.
bool may_be_asked(const Plain& request) {
  if (request.verb == "leaks" || request.verb == "record") return false;
  if (request.value.empty()) return true;
  return request.name.find("background_thread") == std::string::npos && request.name.find("prof") == std::string::npos &&
         request.name != "opt.stats_print" && request.name != "opt.leaks";
}

std::string some_request(Input& input) {
  static const char* const kWords[] = {"info", "stats", "ctl", "purge", "heap", "threads", "regions", "pages", "json", "text",
                                       "openmetrics", "summary", "a", "gm", "live", "opt.dirty_decay_ms", "version", "epoch",
                                       "stats.allocated", "arena.0.purge", "arena.4096.decay", "opt.hard_limit", "arenas.bin.7.size",
                                       "thread.arena", "-1", "10000", "4K", "true", "stats.arenas.0.bins.3.curregs"};
  std::string text;
  for (size_t count = input.below(5); count != 0; --count) {
    text += input.one_in(4) ? input.text(40) : kWords[input.below(std::size(kWords))];
    text += input.one_in(8) ? input.text(3) : " ";
  }
  if (input.one_in(30)) text.resize(input.below(2 * kMostRequest), 'x');
  if (!input.one_in(8)) text += input.one_in(4) ? "\r\n" : "\n";
  return text + (input.one_in(8) ? input.text(10) : "");
}

void ask(std::string line) {
  int ends[2];
  HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0);
  const int room = 4 << 20;
  setsockopt(ends[0], SOL_SOCKET, SO_SNDBUFFORCE, &room, sizeof room);
  Reply reply(ends[0], 0);  // a client that has no room is lost at once
  answer(line.data(), reply);
  close(ends[0]);
  std::string told;
  char part[1 << 16];
  for (long got; (got = os::receive(ends[1], part, sizeof part)) > 0;) told.append(part, static_cast<size_t>(got));
  close(ends[1]);
  if (reply.lost()) return;
  HOLDS(told.size() > 4 && told.find('\0') == told.size() - 1);
  const bool refused = told.compare(0, 7, "error: ") == 0;
  HOLDS(refused || told.compare(0, 3, "ok\n") == 0);
  HOLDS(!refused || told.find('\n') == told.size() - 2);
}

void one(Input& input) {
  static RequestLine line;  // as the thread has it, not made anew
  line.clear();
  const std::string sent = some_request(input);
  RequestLine::State state = RequestLine::State::kMore;
  for (size_t at = 0; at < sent.size() && state == RequestLine::State::kMore;) {
    const size_t part = input.one_in(4) ? input.between(1, 9) : 256;
    const std::string bytes = sent.substr(at, part);
    state = line.add(bytes.data(), bytes.size());
    at += bytes.size();
  }
  const size_t end = sent.find('\n');
  const RequestLine::State expected = std::min(end, sent.size()) >= kMostRequest ? RequestLine::State::kTooLong
                                      : end == std::string::npos               ? RequestLine::State::kMore
                                                                               : RequestLine::State::kWhole;
  HOLDS(state == expected);
  if (state != RequestLine::State::kWhole) return;
  const Plain plain = plain_parse(sent.substr(0, end));
  std::string text = line.text();
  Request request;
  HOLDS((parse(text.data(), &request) == nullptr) == plain.sound);
  if (!plain.sound) return;
  HOLDS(request.verb == plain.verb && request.name == plain.name && request.value == plain.value);
  if (may_be_asked(plain)) ask(line.text());
}

}  // namespace
}  // namespace acre::live

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::Input input(data, size);
  acre::live::one(input);
  return 0;
}
