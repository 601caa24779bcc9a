// Reads and writes past the end of a block, and before its start.
#include "kinds.h"

namespace {

// What a copy of any distance may read and write.
Byte g_buffer[kMib];

// A contiguous megabyte has to meet neighbours on both sides, not the end of what is mapped.
size_t neighbourhood(const Case& given) { return given.distance < kMib ? 64 * kKib : 4 * kMib; }

// Does not end where a page does.
constexpr size_t kInPage = 100000;

enum Way { kDirect, kCopy };

template <bool kWrites, Way kWay, bool kBefore>
Outcome beyond(const Case& given) {
  Neighbours neighbours(given, neighbourhood(given));
  Byte* from = kBefore ? neighbours.victim - given.distance : neighbours.victim + neighbours.size;
  memset(g_buffer, kDamage, sizeof g_buffer);
  begin();
  if (kWay == kCopy) {
    if (kWrites) {
      memcpy(from, g_buffer, given.distance);
    } else {
      memcpy(g_buffer, from, given.distance);
    }
  } else {
    volatile Byte* at = kBefore ? from : from + given.distance - 1;
    if (kWrites) {
      *at = kDamage;
    } else {
      g_buffer[0] = *at;
    }
  }
  done();
  if (kWrites) neighbours.release();
  return kPasses;
}

// The commonest mistake: the zero behind a string. It has no effect where there is a zero already.
Outcome write_zero_behind(const Case& given) {
  Neighbours neighbours(given);
  begin();
  volatile Byte* at = neighbours.victim + neighbours.size;
  const bool was_zero = *at == 0;
  *at = 0;
  done();
  neighbours.release();
  return was_zero ? kNoEffect : kPasses;
}

template <bool kWrites, bool kBefore>
void add_all(const char* group) {
  const auto add_one = [&](const char* way, const char* how, Body body, size_t size, size_t distance) {
    char name[64], about[120];
    snprintf(name, sizeof name, "%s_by_%%2$s_%s_%%1$s", group, way);
    snprintf(about, sizeof about, "%s %s %s of a full block of %%1$s", kWrites ? "writes" : "reads", how,
             kBefore ? "before the start" : "past the end");
    add(name, group, about, body, kPlaces | kGuard, size, distance);
  };
  for (size_t size : kSizes) {
    for (size_t distance : {size_t{1}, size_t{32}, kMib}) {
      add_one("direct", "the byte at a distance of %2$s", beyond<kWrites, kDirect, kBefore>, size, distance);
      add_one("copy", "the %2$s bytes", beyond<kWrites, kCopy, kBefore>, size, distance);
    }
  }
  if (!kWrites || kBefore) return;
  add_one("direct", "the byte at a distance of %2$s", beyond<true, kDirect, false>, kInPage, 1);
  for (size_t size : {kSizes[0], kSizes[1], kInPage, kSizes[2]}) {
    add("overflow_write_zero_%s", group, "writes a zero just past the end of a full block of %s", write_zero_behind,
        kPlaces | kGuard, size);
  }
}

const Registration registration([] {
  add_all<true, false>("overflow_write");
  add_all<true, true>("underflow_write");
  add_all<false, false>("overflow_read");
  add_all<false, true>("underflow_read");
});

}  // namespace
