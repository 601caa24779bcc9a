#include "control/nodes.h"

#include <errno.h>
#include <string.h>

#include "acre/acre.h"
#include "control/arena_nodes.h"
#include "control/caches.h"
#include "control/ctl.h"
#include "control/snapshot.h"
#include "control/this_thread.h"
#include "heap/background.h"
#include "heap/pressure.h"
#include "heap/registry.h"
#include "heap/tags.h"
#include "heap/watch.h"
#include "leaks/checker.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "report/profile_file.h"
#include "report/profiler.h"
#include "sample/profile.h"

namespace acre::ctl {

namespace {

constexpr Type type_of(StatType type) {
  switch (type) {
    case StatType::kSize:
    case StatType::kPages: return Type::kSize;
    case StatType::kUnsigned: return Type::kUnsigned;
    case StatType::kU32: return Type::kU32;
    default: return Type::kU64;
  }
}

struct Table {
  Node node[kNodes];

  constexpr Table() {
    unsigned at = 0;
#define ACRE_R(name, type, value) node[at++] = Node(name, "", Type::k##type, Kind::kValue);
#define ACRE_W(name, type, value, change) node[at++] = Node(name, "", Type::k##type, Kind::kValue, true);
#define ACRE_V(name, action) node[at++] = Node(name, "", Type::kVoid, Kind::kAction);
#define ACRE_T(name, type, action) node[at++] = Node(name, "", Type::k##type, Kind::kOrder, true);
#define ACRE_O(name, type, change) node[at++] = Node(name, "", Type::k##type, Kind::kSink, true);
#define ACRE_M(name, type, value) node[at++] = Node(name, "", Type::k##type, Kind::kMaker);
#define ACRE_L(name, type, value) node[at++] = Node(name, "", Type::k##type, Kind::kLookup);
    ACRE_CTL_NODES(ACRE_R, ACRE_W, ACRE_V, ACRE_T, ACRE_O, ACRE_M, ACRE_L)
#undef ACRE_R
#undef ACRE_W
#undef ACRE_V
#undef ACRE_T
#undef ACRE_O
#undef ACRE_M
#undef ACRE_L
    for (const StatGroup& group : kStatGroups) {
      for (unsigned row = 0; row < group.table().count; ++row) {
        const StatInfo& info = group.table().rows[row];
        node[at++] = Node(group.prefix, info.ctl, type_of(info.type), Kind::kValue);
      }
    }
    for (const OptionInfo& info : kOptionTable) {
      const Type type = info.type == OptionType::kBool     ? Type::kBool
                        : info.type == OptionType::kChoice ? Type::kString
                        : info.type == OptionType::kPath   ? Type::kString
                                                           : Type::kSsize;
      const bool writable = info.change == Change::kAnyTime && type != Type::kString;
      node[at++] = Node("opt.", info.name, type, Kind::kValue, writable);
    }
  }
};
constexpr Table kTable;

constexpr bool same_names(const Node& a, const Node& b) {
  for (unsigned i = 0; i < sizeof a.name; ++i) {
    if (a.name[i] != b.name[i]) return false;
  }
  return true;
}
// The figures' names are left to a unit test: compilers count the steps that they are willing to take here.
constexpr bool names_differ() {
  for (unsigned i = 0; i < kNodes; ++i) {
    if (i == kOwnNodes) i = kFirstOption;
    for (unsigned j = 0; j < smaller(i, kOwnNodes); ++j) {
      if (same_names(kTable.node[i], kTable.node[j])) return false;
    }
  }
  return true;
}
static_assert(names_differ(), "two ctl nodes have the same name");

// --- What the table's expressions call ------------------------------------------------------------------------

// Large sizes are whole pages. Those up to where each block is a mapping of its own are listed one by one; beyond that
// powers of two, and as the last one the largest size that a block may have.
constexpr size_t kLargestRun = size_t{64} << 20;
constexpr unsigned kStepsOfAPage = (kLargestRun - kSmallMax) / kPageBytes;
constexpr unsigned kDoublings = floor_log2(size_t{PTRDIFF_MAX}) - floor_log2(kLargestRun);
constexpr unsigned kLargeSizes = kStepsOfAPage + kDoublings + 1;

size_t size_of_large(size_t index) {
  if (index < kStepsOfAPage) return kSmallMax + (index + 1) * kPageBytes;
  const size_t doublings = index - kStepsOfAPage + 1;
  return doublings <= kDoublings ? kLargestRun << doublings : align_down(size_t{PTRDIFF_MAX}, os::page_bytes());
}

const char* version() { return ACRE_VERSION; }
constexpr SizeClass class_at(size_t index) { return static_cast<SizeClass>(index); }

int renew() { return refresh_if_due() ? 0 : EAGAIN; }

// The place holds the name as long as there is the tag. ENOENT: it has gone since the node was looked up.
const char* name_of_tag(size_t index, int* error) {
  const Tag* tag = tags::of_number(index);
  if (tag == nullptr) *error = ENOENT;
  return tag == nullptr ? "" : tag->name;
}

// For arenas that are made from now on.
int set_default_decay_time(Option of, int64_t ms) {
  return set_option(index_of(of), ms, OptionSource::kRunTime) ? 0 : EFAULT;
}

// Where memory comes from the data segment (sbrk), and where else. That is settled at the start.
const char* dss() {
  if (!options().sbrk) return "disabled";
  return options().mmap ? "secondary" : "primary";
}
int set_dss(const char* to) {
  if (to == nullptr) return EINVAL;
  return strcmp(to, dss()) == 0 ? 0 : EFAULT;
}

int set_background_thread(bool on) {
  set_option(index_of(Option::background_thread), on, OptionSource::kRunTime);
  return background::follow_option() ? 0 : EAGAIN;
}

int set_most_background_threads(size_t most) {
  if (most > background::kMostThreads) return EINVAL;
  background::set_most_threads(static_cast<unsigned>(most));
  return 0;
}

int change_option(unsigned option, int64_t value) {
  if (!set_option(option, value, OptionSource::kRunTime)) return EINVAL;
  switch (static_cast<Option>(option)) {
    case Option::dirty_decay_ms:
    case Option::muzzy_decay_ms: return set_decay_time(static_cast<Option>(option), kAllArenas, value);
    case Option::release_rate: release_rate::set(value); return 0;
    case Option::hard_limit:
    case Option::soft_limit: pressure::set_limits(); return 0;
    case Option::background_thread: return set_background_thread(value != 0);
    default: return 0;  // whoever needs it looks at it each time
  }
}

// Sampling can begin at any time, whether or not the option prof was set at the start.
int set_profiling(bool on) {
  if (on && !profile::prepare(static_cast<uint64_t>(options().prof_sample))) return EAGAIN;
  profile::set_active(on);
  return 0;
}

// As jemalloc has it: -1 for none.
ssize_t lg_interval() {
  const int64_t bytes = options().prof_interval;
  return bytes == 0 ? -1 : static_cast<ssize_t>(floor_log2(static_cast<uint64_t>(bytes)));
}

bool ends_with(const char* text, const char* end) {
  const size_t size = strlen(text), of_end = strlen(end);
  return size >= of_end && strcmp(text + size - of_end, end) == 0;
}

// The file's name says what it is to be. Without one it gets one.
int dump_profile(const char* const* path) {
  if (!profile::is_prepared()) return ENOENT;
  const bool named = path != nullptr && *path != nullptr;
  if (!named) return report::write_profile(report::Kind::kLive, report::Naming::kNumbered) == 0 ? 0 : EFAULT;
  report::Kind kind = report::Kind::kLegacy;
  if (ends_with(*path, ".pb.gz")) kind = report::Kind::kLive;
  if (ends_with(*path, ".peak.pb.gz")) kind = report::Kind::kPeak;
  if (ends_with(*path, ".growth.pb.gz")) kind = report::Kind::kGrowth;
  return report::write_profile(*path, kind) == 0 ? 0 : EFAULT;
}

int dump_leaks(const char* const* path) {
  const int error = leaks::dump(path == nullptr ? nullptr : *path);
  return error == 0 || error == EAGAIN ? error : EFAULT;
}

int reset_profile(const size_t* lg_sample) {
  constexpr size_t kMostLog = 62;
  if (!profile::is_prepared()) return ENOENT;
  if (lg_sample != nullptr && *lg_sample > kMostLog) return EINVAL;
  profile::reset(lg_sample == nullptr ? profile::mean() : uint64_t{1} << *lg_sample);
  return 0;
}

Heap* heap_of_thread(int* error) {
  Heap* heap = t_heap == &kUnbornHeap ? registry::birth() : heap_if_any();
  if (heap == nullptr) *error = EAGAIN;
  return heap;
}
bool is_thread_profiled(int* error) {
  const Heap* heap = heap_of_thread(error);
  return heap != nullptr && !heap->unwatched;
}
int set_thread_profiled(bool on) {
  int error = 0;
  if (Heap* heap = heap_of_thread(&error)) watch::set_thread(*heap, on);
  return error;
}

// --- Values by type ---------------------------------------------------------------------------------------------

// A type's member of Value, and a value of the program's in it.
#define ACRE_TYPE(name, type, member)                                     \
  struct name {                                                           \
    static void put(Value* to, type value) { to->member = value; }        \
    [[maybe_unused]] static type get(const Value& from) { return from.member; } \
  }
ACRE_TYPE(Bool, bool, of_bool);
ACRE_TYPE(Unsigned, unsigned, of_unsigned);
ACRE_TYPE(U32, uint32_t, of_u32);
ACRE_TYPE(U64, uint64_t, of_u64);
ACRE_TYPE(Size, size_t, of_size);
ACRE_TYPE(Ssize, ssize_t, of_ssize);
ACRE_TYPE(String, const char*, of_string);
ACRE_TYPE(Text, const char*, of_string);
ACRE_TYPE(Hooks, extent_hooks_t*, of_hooks);
ACRE_TYPE(Counter, const uint64_t*, of_counter);
#undef ACRE_TYPE

bool begins_with(const char* name, const char* start) { return strncmp(name, start, strlen(start)) == 0; }

int read_option(unsigned option, Value* value) {
  const int64_t now = option_value(option);
  switch (kOptionTable[option].type) {
    case OptionType::kBool: Bool::put(value, now != 0); break;
    case OptionType::kChoice: String::put(value, option_value_name(option, now)); break;
    case OptionType::kPath: String::put(value, path_of(now)); break;
    default: Ssize::put(value, now); break;
  }
  return 0;
}

}  // namespace

// A node that is not what is looked for.
#define ACRE_OTHER(...) ++at;

const Node& node(unsigned index) { return kTable.node[index]; }

bool is_valid_index(unsigned node, unsigned at, size_t index) {
  const char* name = kTable.node[node].name;
  if (begins_with(name, "arenas.bin.")) return index < kSmallClasses;
  if (begins_with(name, "arenas.lextent.")) return index < kLargeSizes;
  if (at == 1 && begins_with(name, "stats.arenas.#.lextents.")) return index < kLargeSizes;
  if (at == 1 && begins_with(name, "stats.arenas.#.extents.")) return index < FreeRuns::kBins;
  if (at == 1) return index < kSmallClasses;
  if (begins_with(name, "stats.tags.")) return tags::of_number(index) != nullptr;
  if (begins_with(name, "stats.")) return pages_of(index) != nullptr || index == kAllArenas;
  return index <= arenas::numbers() || index == kAllArenas;
}

// The figure of this number, counted over all groups.
static int read_stat(unsigned number, size_t index, size_t at, Value* value) {
  const StatGroup* group = kStatGroups;
  for (; number >= group->table().count; ++group) number -= group->table().count;
  uint64_t figure;
  if (group->scope == StatScope::kTag) {
    TagInfo info;
    const Tag* tag = tags::of_number(index);
    if (tag == nullptr || !tags::describe(tag, &info)) return ENOENT;
    const TagStatistics figures = statistics_of(info);
    figure = figures_of(figures)[number];
  } else {
    if (!refresh_once()) return EAGAIN;
    figure = read_figure({group->scope, number, group->lock, index, at});
  }
  switch (group->table().rows[number].type) {
    case StatType::kSize: Size::put(value, figure); break;
    case StatType::kPages: Size::put(value, figure / kPageBytes); break;
    case StatType::kUnsigned: Unsigned::put(value, static_cast<unsigned>(figure)); break;
    case StatType::kU32: U32::put(value, static_cast<uint32_t>(figure)); break;
    case StatType::kU64: U64::put(value, figure); break;
    case StatType::kPages64: U64::put(value, figure / kPageBytes); break;
  }
  return 0;
}

int read(unsigned node, [[maybe_unused]] size_t index, [[maybe_unused]] size_t second, Value* value) {
  if (node >= kFirstOption) return read_option(node - kFirstOption, value);
  const char* name = kTable.node[node].name;
  if (node >= kOwnNodes) return read_stat(node - kOwnNodes, index, second, value);
  if ((begins_with(name, "stats.") || begins_with(name, "epoch")) && !refresh_once()) return EAGAIN;
  int error = 0;
  unsigned at = 0;
#define ACRE_R(name, type, expression) \
  if (node == at++) type::put(value, expression);
#define ACRE_W(name, type, expression, change) ACRE_R(name, type, expression)
  ACRE_CTL_NODES(ACRE_R, ACRE_W, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_R, ACRE_OTHER)
#undef ACRE_R
#undef ACRE_W
  return error;
}

int look_up(unsigned node, const void* address, Value* value) {
  int error = 0;
  unsigned at = 0;
#define ACRE_L(name, type, expression) \
  if (node == at++) type::put(value, expression);
  ACRE_CTL_NODES(ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_L)
#undef ACRE_L
  return error;
}

int write(unsigned node, size_t index, Value value) {
  if (node >= kFirstOption) {
    const unsigned option = node - kFirstOption;
    return change_option(option, kOptionTable[option].type == OptionType::kBool ? value.of_bool : value.of_ssize);
  }
  unsigned at = 0;
#define ACRE_O(name, type, change)                        \
  if (node == at++) {                                     \
    [[maybe_unused]] const auto to = type::get(value);    \
    return change;                                        \
  }
#define ACRE_W(name, type, expression, change) ACRE_O(name, type, change)
  ACRE_CTL_NODES(ACRE_OTHER, ACRE_W, ACRE_OTHER, ACRE_OTHER, ACRE_O, ACRE_OTHER, ACRE_OTHER)
#undef ACRE_O
#undef ACRE_W
  return EPERM;
}

int act(unsigned node, size_t index) {
  unsigned at = 0;
#define ACRE_V(name, action) \
  if (node == at++) return action;
  ACRE_CTL_NODES(ACRE_OTHER, ACRE_OTHER, ACRE_V, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER)
#undef ACRE_V
  return EPERM;
}

int tell(unsigned node, [[maybe_unused]] size_t index, const Value* told) {
  unsigned at = 0;
#define ACRE_T(name, type, action)                                             \
  if (node == at++) {                                                          \
    const auto value = told == nullptr ? decltype(type::get(*told)){} : type::get(*told); \
    const auto* to = told == nullptr ? nullptr : &value;                       \
    return action;                                                             \
  }
  ACRE_CTL_NODES(ACRE_OTHER, ACRE_OTHER, ACRE_OTHER, ACRE_T, ACRE_OTHER, ACRE_OTHER, ACRE_OTHER)
#undef ACRE_T
  return EPERM;
}
#undef ACRE_OTHER

}  // namespace acre::ctl
