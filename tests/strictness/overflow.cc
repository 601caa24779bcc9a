// Reads and writes past the end of a block, and before its start.
#include "kinds.h"

namespace {

// What a copy of any distance may read and write.
Byte g_buffer[kMib];

// A contiguous megabyte has to meet neighbours on both sides, not the end of what is mapped.
size_t neighbourhood(const Case& given) { return given.distance < kMib ? 64 * kKib : 4 * kMib; }

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

template <bool kWrites>
void add_all(const char* over, const char* under) {
  for (size_t size : kSizes) {
    for (size_t distance : {size_t{1}, size_t{32}, kMib}) {
      const auto name = [&](const char* what, const char* way) {
        static char text[64];
        snprintf(text, sizeof text, "%s_by_%%2$s_%s_%%1$s", what, way);
        return text;
      };
      const int flags = kPlaces | kGuard;
      add(name(over, "direct"), over, "touches the byte that is %2$s past a full block of %1$s",
          beyond<kWrites, kDirect, false>, flags, size, distance);
      add(name(over, "copy"), over, "copies %2$s bytes from the end of a full block of %1$s on",
          beyond<kWrites, kCopy, false>, flags, size, distance);
      add(name(under, "direct"), under, "touches the byte that is %2$s before a block of %1$s",
          beyond<kWrites, kDirect, true>, flags, size, distance);
      add(name(under, "copy"), under, "copies the %2$s bytes before a block of %1$s", beyond<kWrites, kCopy, true>,
          flags, size, distance);
    }
  }
}

const Registration registration([] {
  add_all<true>("overflow_write", "underflow_write");
  add_all<false>("overflow_read", "underflow_read");
});

}  // namespace
