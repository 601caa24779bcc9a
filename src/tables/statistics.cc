#include "tables/statistics.h"

namespace acre {

static_assert(sizeof(ProcessStatistics) == sizeof kProcessTable / sizeof kProcessTable[0] * sizeof(uint64_t));
static_assert(sizeof(ArenaStatistics) == sizeof kArenaTable / sizeof kArenaTable[0] * sizeof(uint64_t));
static_assert(sizeof(ClassStatistics) == sizeof kClassTable / sizeof kClassTable[0] * sizeof(uint64_t));
static_assert(sizeof(LockStatistics) == sizeof kLockTable / sizeof kLockTable[0] * sizeof(uint64_t));
static_assert(sizeof(LengthStatistics) == sizeof kLengthTable / sizeof kLengthTable[0] * sizeof(uint64_t));
static_assert(sizeof(TagStatistics) == sizeof kTagTable / sizeof kTagTable[0] * sizeof(uint64_t));

const char* stat_scope_name(StatScope scope) {
  switch (scope) {
    case StatScope::kProcess: return "process";
    case StatScope::kArena: return "arena";
    case StatScope::kClass: return "class";
    case StatScope::kLock: return "lock";
    case StatScope::kLength: return "length";
    case StatScope::kTag: return "tag";
  }
  return "";
}

const char* stat_help(StatScope scope, unsigned row) {
  unsigned at = 0;
#define ACRE_X(name, kind, unit, ctl, type, help) \
  if (row == at++) return help;
  switch (scope) {
    case StatScope::kProcess: ACRE_PROCESS_STATISTICS(ACRE_X) break;
    case StatScope::kArena: ACRE_ARENA_STATISTICS(ACRE_X) break;
    case StatScope::kClass: ACRE_CLASS_STATISTICS(ACRE_X) break;
    case StatScope::kLock: ACRE_LOCK_STATISTICS(ACRE_X) break;
    case StatScope::kLength: ACRE_LENGTH_STATISTICS(ACRE_X) break;
    case StatScope::kTag: ACRE_TAG_STATISTICS(ACRE_X) break;
  }
#undef ACRE_X
  return "";
}

}  // namespace acre
