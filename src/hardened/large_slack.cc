// The slack of large blocks: what their last page has behind the bytes that the program asked for. It is filled with a byte
// that is not zero, so that a string's end that is written there is found, too.
#include <string.h>

#include "cache/upcalls.h"
#include "hardened/checks.h"

namespace acre::hardened {

namespace {

struct Slack {
  const unsigned char* start;
  size_t bytes;
};

// With OS pages of 64 KiB a huge block has more than a page of slack. No more than one is touched.
Slack slack_of(const Run* run) {
  const auto* block = static_cast<const unsigned char*>(pointer_to(run->base));
  return {block + run->asked, smaller(run->bytes() - run->asked, kPageBytes)};
}

constexpr unsigned char kFilling = 0xa5;

}  // namespace

ACRE_COLD void fill_slack(Run* run) {
  const Arena* arena = arena_of(run);
  if (arena != nullptr && arena->is_manual) return;  // their blocks are not protected
  const Slack slack = slack_of(run);
  memset(const_cast<unsigned char*>(slack.start), kFilling, slack.bytes);
  run->slack_filled = true;
}

ACRE_COLD void check_slack(const Run* run, const char* caller) {
  const Slack slack = slack_of(run);
  const auto is_filled = [&](size_t at) { return slack.start[at] == kFilling; };
  // Each byte is as the one before it.
  if (slack.bytes == 0 || (is_filled(0) && memcmp(slack.start, slack.start + 1, slack.bytes - 1) == 0)) return;
  size_t at = 0;
  while (is_filled(at)) ++at;
  written_past_end_at(caller, pointer_to(run->base), run->asked, run->asked + at);
}

}  // namespace acre::hardened
