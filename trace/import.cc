#include "import.h"

#include <unistd.h>

#include <charconv>
#include <cinttypes>
#include <filesystem>

#include "say.h"

namespace acre::trace {

std::string_view word_of(std::string_view& line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const std::string_view word = line.substr(0, line.find(' '));
  line.remove_prefix(word.size());
  return word;
}

bool parse(std::string_view word, int base, uint64_t& to) {
  if (base == 16 && (word.starts_with("0x") || word.starts_with("0X"))) word.remove_prefix(2);
  const char* const end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, to, base);
  return error == std::errc() && rest == end;
}

bool Import::refuse(const char* what) {
  say("trace: cannot import '%s': line %" PRIu64 ": %s", options_.from.c_str(), lines_.number(), what);
  return false;
}

int Import::conclude(bool whole, const Composer& composer, bool written) {
  if (!whole || !written) {
    unlink(options_.to.c_str());
    return 1;
  }
  say("trace: wrote %s: %" PRIu64 " events", options_.to.c_str(), composer.events());
  if (composer.added() != 0) {
    say("trace: %" PRIu64 " blocks were given out again without a free, which was put in", composer.added());
  }
  if (composer.dropped() != 0) {
    say("trace: %" PRIu64 " frees of blocks that did not live were left out", composer.dropped());
  }
  if (lines_.error().empty()) return 0;
  say("trace: '%s' was read up to line %" PRIu64 ": %s", options_.from.c_str(), lines_.number(),
      lines_.error().c_str());
  return 1;
}

int import(const ImportOptions& options) {
  Lines lines;
  std::error_code error;
  if (std::filesystem::equivalent(options.from, options.to, error)) {
    say("trace: '%s' would be overwritten by itself", options.from.c_str());
    return 1;
  }
  std::string_view first;
  if (!lines.open(options.from)) {
    say("trace: cannot read '%s': %s", options.from.c_str(), lines.error().c_str());
    return 1;
  }
  if (!lines.next(first)) {
    say("trace: cannot import '%s': %s", options.from.c_str(),
        lines.error().empty() ? "there is nothing in it" : lines.error().c_str());
    return 1;
  }
  const bool is_heaptrack = first.starts_with("v ");
  return is_heaptrack ? import_heaptrack(lines, options, first) : import_text(lines, options, first);
}

}  // namespace acre::trace
