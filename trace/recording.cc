#include "recording.h"

#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>

#include "say.h"
#include "ticks.h"

namespace acre::trace {

namespace {
constexpr uint64_t kLookEvery = 1 << 16;            // events
constexpr uint64_t kShowAfter = 1'000'000'000;      // ns
}  // namespace

std::string text_of(const Problem& problem) {
  return "process " + std::to_string(problem.process) + ", lane " + std::to_string(problem.lane) + ", block " +
         std::to_string(problem.block) + ", byte " + std::to_string(problem.offset) + ": " + problem.text;
}

void say_damage(const char* command, const std::string& path, const Reader& reader, uint64_t problems,
                const std::string& first) {
  if (reader.damaged_bytes() != 0) {
    say("%s: %" PRIu64 " bytes of '%s' are damaged and were left out", command, reader.damaged_bytes(), path.c_str());
  }
  if (problems != 0) say("%s: %" PRIu64 " parts were left out; the first: %s", command, problems, first.c_str());
}

bool Recording::open(const std::string& path) {
  path_ = path;
  if (!reader_.open(path)) {
    say("trace: %s", reader_.error().c_str());
    return false;
  }
  order_ = std::make_unique<Order>(reader_, [this](const Problem& problem) {
    if (problem.kind == Problem::kNoOrder || problems_++ != 0) return;  // the former is for check
    first_problem_ = text_of(problem);
  });
  clock_ = std::make_unique<Clock>(reader_);
  for (const Chunk& chunk : reader_.chunks()) {
    if (chunk.header.type == ChunkType::kEvents) all_events_ += chunk.header.events;
  }
  is_on_terminal_ = isatty(STDERR_FILENO) != 0 && isatty(STDOUT_FILENO) == 0;
  begin_ns_ = nanoseconds_of(CLOCK_MONOTONIC);
  return true;
}

bool Recording::next(Merged& merged) {
  if (!order_->next(merged)) return false;
  if (is_of_block(merged.event->what) && ++events_ % kLookEvery == 0 && is_on_terminal_) show_progress();
  return true;
}

void Recording::show_progress() {
  if (nanoseconds_of(CLOCK_MONOTONIC) - begin_ns_ < kShowAfter) return;
  fprintf(stderr, "\racre trace: %" PRIu64 " of %" PRIu64 " million events", events_ / 1'000'000,
          all_events_ / 1'000'000);
  is_shown_ = true;
}

void Recording::clear_progress() {
  if (is_shown_) fputs("\r\033[K", stderr);
  is_shown_ = false;
}

int Recording::finish() {
  clear_progress();
  if (fflush(stdout) != 0 || ferror(stdout)) {
    say("cannot write to stdout: %s", strerror(errno));
    return 1;
  }
  say_damage("trace", path_, reader_, problems_, first_problem_);
  return problems_ != 0 || reader_.damaged_bytes() != 0 ? 1 : 0;
}

}  // namespace acre::trace
