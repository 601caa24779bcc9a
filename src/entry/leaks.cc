// The functions of include/acre/leaks.h.
#include "acre/leaks.h"

#include <errno.h>

#include "entry/api.h"
#include "leaks/checker.h"
#include "sample/profile.h"

using namespace acre;

namespace {

// The calling thread's heap, made if there is none. Null when memory is refused.
Heap* own_heap() {
  if (heap_if_any() == nullptr) release(allocate(1));
  return heap_if_any();
}

}  // namespace

extern "C" {

ACRE_EXPORT int acre_leaks_active() {
  if (!leaks::is_on()) return ACRE_LEAKS_OFF;
  return leaks::is_whole_program_checked() ? ACRE_LEAKS_AT_EXIT : ACRE_LEAKS_LOCAL;
}
ACRE_EXPORT void acre_leaks_cancel() { leaks::cancel(); }

ACRE_EXPORT int acre_leaks_ignore(const void* p) { return leaks::ignore_block(address_of(p)) ? 0 : -1; }
ACRE_EXPORT int acre_leaks_heed(const void* p) { return leaks::heed_block(address_of(p)) ? 0 : -1; }

ACRE_EXPORT void acre_leaks_disable() {
  if (Heap* heap = own_heap()) ++heap->ignored_leaks;
}
ACRE_EXPORT void acre_leaks_enable() {
  Heap* heap = heap_if_any();
  if (heap != nullptr && heap->ignored_leaks != 0) --heap->ignored_leaks;
}

ACRE_EXPORT int acre_leaks_leave_out(const void* start, size_t bytes) {
  return leaks::leave_out(address_of(start), bytes) ? 0 : -1;
}
ACRE_EXPORT int acre_leaks_take_in(const void* start) { return leaks::take_in(address_of(start)) ? 0 : -1; }

ACRE_EXPORT unsigned acre_leaks_begin() { return profile::next_epoch(); }

ACRE_EXPORT long long acre_leaks_end(unsigned section, const char* name, size_t* bytes) {
  uint64_t leaked_blocks = 0, leaked_bytes = 0;
  if (leaks::is_on()) {
    if (const int error = leaks::check_section(name, section, &leaked_blocks, &leaked_bytes)) {
      errno = error;
      return -1;
    }
  }
  if (bytes != nullptr) *bytes = leaked_bytes;
  return static_cast<long long>(leaked_blocks);
}

ACRE_EXPORT int acre_leaks_dump(const char* path) { return leaks::dump(path); }

}  // extern "C"
