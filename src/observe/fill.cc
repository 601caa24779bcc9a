#include "observe/fill.h"

#include <string.h>

#include "cache/large.h"
#include "tables/options.h"

namespace acre::fill {

namespace {

constexpr int kNewByte = 0xa5;
constexpr int kFreedByte = 0x5a;

bool junk_has(Junk part) { return options().junk == Junk::kBoth || options().junk == part; }

}  // namespace

constinit bool g_on = false;
constinit std::atomic<bool> g_clears_sampled{false};

void start() {
  g_on = options().junk != Junk::kNone || options().zero;
  if (g_on) large::forbid_resizing();
}

ACRE_COLD void clear_sampled() { g_clears_sampled.store(true, std::memory_order_relaxed); }

ACRE_COLD void clear(void* block, size_t from, size_t to) {
  if (!g_on && from < to) memset(static_cast<char*>(block) + from, 0, to - from);
}

ACRE_COLD void new_bytes(void* block, size_t from, size_t to, bool zeroed) {
  if (from >= to) return;
  char* start = static_cast<char*>(block) + from;
  if (options().zero) {
    if (!zeroed) memset(start, 0, to - from);
  } else if (junk_has(Junk::kAllocated)) {
    memset(start, kNewByte, to - from);
  }
}

ACRE_COLD void freed_block(void* block, size_t bytes) {
  if (junk_has(Junk::kFreed)) memset(block, kFreedByte, bytes);
}

}  // namespace acre::fill
