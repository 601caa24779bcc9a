// glibc's functions for information, mallinfo, mallinfo2, malloc_info and mallopt, under plain and acre_ names. Figures
// without a meaning in acre are 0. musl has no structs for the first two, and none of the plain names.
#include <errno.h>
#include <limits.h>

#include "acre/acre.h"
#include "base/compiler.h"
#include "base/text.h"
#include "base/units.h"
#include "control/statistics.h"

using namespace acre;

namespace {

#if ACRE_GLIBC
int as_int(size_t n) { return n > INT_MAX ? INT_MAX : static_cast<int>(n); }
#endif

void add_total(Text& text, const char* type, uint64_t count, uint64_t bytes) {
  text.add("<total type=\"").add(type).add("\" count=\"").decimal(count);
  text.add("\" size=\"").decimal(bytes).add("\"/>\n");
}

}  // namespace

extern "C" {

#if ACRE_GLIBC
ACRE_EXPORT struct mallinfo2 acre_mallinfo2() {
  const ProcessStatistics s = gather_blocks();
  struct mallinfo2 info = {};
  info.arena = s.mapped - s.live_huge;
  info.ordblks = s.free_blocks;
  info.hblks = s.huge_blocks;
  info.hblkhd = s.live_huge;
  info.uordblks = s.allocated - s.live_huge;
  info.fordblks = info.arena - info.uordblks;
  info.keepcost = s.dirty + s.muzzy;
  return info;
}

ACRE_EXPORT struct mallinfo acre_mallinfo() {
  struct mallinfo2 wide = acre_mallinfo2();
  struct mallinfo info = {};
  info.arena = as_int(wide.arena);
  info.ordblks = as_int(wide.ordblks);
  info.hblks = as_int(wide.hblks);
  info.hblkhd = as_int(wide.hblkhd);
  info.uordblks = as_int(wide.uordblks);
  info.fordblks = as_int(wide.fordblks);
  info.keepcost = as_int(wide.keepcost);
  return info;
}

#endif  // ACRE_GLIBC

// acre has nothing like glibc's tunables.
ACRE_EXPORT int acre_mallopt(int, int) { return 1; }

ACRE_EXPORT int acre_malloc_info(int options, FILE* stream) {
  if (options != 0) {
    errno = EINVAL;
    return -1;
  }
  const ProcessStatistics s = gather_blocks();
  Line<2048> text;
  text.add("<malloc version=\"1\">\n<heap nr=\"0\">\n<sizes>\n</sizes>\n</heap>\n");
  add_total(text, "live", s.small_blocks + s.large_blocks, s.allocated - s.live_huge);
  add_total(text, "rest", s.free_blocks, s.active - s.allocated);
  add_total(text, "mmap", s.huge_blocks, s.live_huge);
  text.add("<system type=\"current\" size=\"").decimal(s.mapped).add("\"/>\n");
  text.add("<aspace type=\"total\" size=\"").decimal(s.mapped).add("\"/>\n");
  text.add("</malloc>\n");
  return fputs(text.c_str(), stream) < 0 ? -1 : 0;
}

#if ACRE_GLIBC && !ACRE_PREFIX_ONLY
ACRE_PLAIN_NAME(mallinfo2);
ACRE_PLAIN_NAME(mallinfo);
ACRE_PLAIN_NAME(mallopt);
ACRE_PLAIN_NAME(malloc_info);
#endif

}  // extern "C"
