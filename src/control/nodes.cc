#include "control/nodes.h"

#include <errno.h>
#include <string.h>

#include "acre/acre.h"
#include "control/ctl.h"
#include "control/snapshot.h"
#include "heap/explicit.h"
#include "heap/pressure.h"
#include "heap/registry.h"
#include "heap/watch.h"
#include "os/os.h"
#include "pages/release_rate.h"
#include "report/profile_file.h"
#include "sample/profile.h"

namespace acre::ctl {

namespace {

struct Table {
  Node node[kNodes];

  constexpr Table() {
    unsigned at = 0;
#define ACRE_R(name, type, value) node[at++] = Node(name, "", Type::k##type, true, false);
#define ACRE_W(name, type, value, change) node[at++] = Node(name, "", Type::k##type, true, true);
#define ACRE_V(name, action) node[at++] = Node(name, "", Type::kVoid, false, false);
#define ACRE_T(name, type, action) node[at++] = Node(name, "", Type::k##type, false, true);
    ACRE_CTL_NODES(ACRE_R, ACRE_W, ACRE_V, ACRE_T)
#undef ACRE_T
#undef ACRE_R
#undef ACRE_W
#undef ACRE_V
    for (const OptionInfo& info : kOptionTable) {
      const Type type = info.type == OptionType::kBool     ? Type::kBool
                        : info.type == OptionType::kChoice ? Type::kString
                        : info.type == OptionType::kPath   ? Type::kString
                                                           : Type::kSsize;
      node[at++] = Node("opt.", info.name, type, true, info.change == Change::kAnyTime && type != Type::kString);
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
constexpr bool names_differ() {
  for (unsigned i = 0; i < kNodes; ++i) {
    for (unsigned j = 0; j < i; ++j) {
      if (same_names(kTable.node[i], kTable.node[j])) return false;
    }
  }
  return true;
}
static_assert(names_differ(), "two ctl nodes have the same name");

// --- What the table's expressions call ------------------------------------------------------------------------

// Large sizes are whole pages, up to where each block is a mapping of its own.
constexpr size_t kLargestRun = size_t{64} << 20;
constexpr unsigned kLargeSizes = (kLargestRun - kSmallMax) / kPageBytes;

const char* version() { return ACRE_VERSION; }
constexpr SizeClass class_at(size_t index) { return static_cast<SizeClass>(index); }

size_t active(const ArenaStatistics& s) { return s.used_pages * kPageBytes; }
size_t resident(const ArenaStatistics& s) { return active(s) + (s.dirty_pages + s.muzzy_pages) * kPageBytes; }
size_t large_bytes(const ArenaStatistics& s) {
  return (s.used_pages - smaller(s.used_pages, s.slab_pages)) * kPageBytes;
}
size_t allocated(const ArenaStatistics& s) { return s.small_bytes + large_bytes(s); }

// A thread that has not allocated yet is given its arena now.
unsigned arena_of_thread(int* error) {
  Heap* heap = t_heap == &kUnbornHeap ? registry::birth() : heap_if_any();
  if (heap == nullptr && t_heap == &kUnbornHeap) *error = EAGAIN;
  return heap == nullptr ? 0 : heap->arena->index;
}

int renew() { return refresh() ? 0 : EAGAIN; }

int flush_thread() {
  if (Heap* heap = heap_if_any()) empty_heap(*heap);
  return 0;
}

// The arena with this number, if it was made yet.
PageHeap* pages_of(size_t index) {
  if (index < arenas::count()) return &arenas::at(static_cast<unsigned>(index))->pages;
  ExplicitArena* arena = arenas::explicit_at(index);
  return arena == nullptr ? nullptr : &arena->arena.pages;
}

// Before jemalloc 5 the number of arenas stood for all of them, and programs such as redis still ask so.
template <class Action>
int for_arenas(size_t index, Action action) {
  if (PageHeap* pages = pages_of(index)) action(*pages);
  if (index != kAllArenas && index != arenas::numbers()) return 0;
  arenas::for_each([&](Arena& arena) { action(arena.pages); });
  return 0;
}
void decay(PageHeap& pages) { pages.decay(os::now_ms()); }
void purge(PageHeap& pages) { pages.purge_to(0); }

// of: which of the two times, by the option that it begins with.
int64_t decay_time(Option of, size_t index, int* error) {
  PageHeap* pages = pages_of(index);
  if (pages == nullptr) {
    *error = EFAULT;
    return 0;
  }
  return of == Option::muzzy_decay_ms ? pages->muzzy_decay_ms() : pages->dirty_decay_ms();
}

int set_decay_time(Option of, size_t index, int64_t ms) {
  const OptionInfo& info = kOptionTable[index_of(of)];
  if (ms < info.least || ms > info.most || (pages_of(index) == nullptr && index != kAllArenas)) return EFAULT;
  return for_arenas(index, [of, ms](PageHeap& pages) {
    of == Option::muzzy_decay_ms ? pages.set_muzzy_decay_ms(ms) : pages.set_dirty_decay_ms(ms);
    decay(pages);
  });
}

// --- Explicit arenas. EFAULT: there is none with this number.

int reset_arena(size_t index) {
  ExplicitArena* arena = arenas::explicit_at(index);
  if (arena == nullptr) return EFAULT;
  arenas::reset(*arena);
  return 0;
}
int destroy_arena(size_t index) {
  ExplicitArena* arena = arenas::explicit_at(index);
  if (arena == nullptr) return EFAULT;
  arenas::destroy(*arena);
  return 0;
}

// Those of arenas that have none are the ones over the system's memory.
extent_hooks_t* hooks_of(size_t index, int* error) {
  if (pages_of(index) == nullptr) *error = EFAULT;
  ExplicitArena* arena = arenas::explicit_at(index);
  return arena == nullptr || arena->source.hooks() == nullptr ? default_hooks() : arena->source.hooks();
}
int set_hooks_of(size_t index, extent_hooks_t* hooks) {
  ExplicitArena* arena = arenas::explicit_at(index);
  if (arena == nullptr || hooks == nullptr) return EFAULT;
  arenas::set_hooks(*arena, hooks);
  return 0;
}

const char* name_of_arena(size_t index, int* error) {
  ExplicitArena* arena = arenas::explicit_at(index);
  if (arena != nullptr) return arena->name;
  if (pages_of(index) == nullptr) *error = EFAULT;
  return "auto";
}
int set_name_of(size_t index, const char* name) {
  ExplicitArena* arena = arenas::explicit_at(index);
  if (arena == nullptr || name == nullptr) return EFAULT;
  arenas::set_name(*arena, name);
  return 0;
}

// The most that is got at a time; SIZE_MAX: no limit.
size_t grow_limit_of(size_t index, int* error) {
  const PageHeap* pages = pages_of(index);
  if (pages == nullptr) *error = EFAULT;
  return pages == nullptr || pages->most_growth() == 0 ? SIZE_MAX : pages->most_growth();
}
int set_grow_limit_of(size_t index, size_t bytes) {
  PageHeap* pages = pages_of(index);
  if (pages == nullptr || bytes < kPageBytes) return EFAULT;
  pages->set_most_growth(bytes == SIZE_MAX ? 0 : bytes);
  return 0;
}

// For arenas that are made from now on.
int set_default_decay_time(Option of, int64_t ms) {
  return set_option(index_of(of), ms, OptionSource::kRunTime) ? 0 : EFAULT;
}

int change_option(unsigned option, int64_t value) {
  if (!set_option(option, value, OptionSource::kRunTime)) return EINVAL;
  switch (static_cast<Option>(option)) {
    case Option::dirty_decay_ms:
    case Option::muzzy_decay_ms: return set_decay_time(static_cast<Option>(option), kAllArenas, value);
    case Option::release_rate: release_rate::set(value); return 0;
    case Option::hard_limit:
    case Option::soft_limit: pressure::set_limits(); return 0;
    default: return 0;  // whoever needs it looks at it each time
  }
}

// Sampling can begin at any time, whether or not the option prof was set at the start.
int set_profiling(bool on) {
  if (on && !profile::prepare(static_cast<uint64_t>(options().prof_sample))) return EAGAIN;
  profile::set_active(on);
  return 0;
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
  return report::write_profile(*path, kind) == 0 ? 0 : EFAULT;
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
ACRE_TYPE(Hooks, extent_hooks_t*, of_hooks);
ACRE_TYPE(Creation, unsigned, of_unsigned);
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

const Node& node(unsigned index) { return kTable.node[index]; }

bool is_valid_index(unsigned node, size_t index) {
  const char* name = kTable.node[node].name;
  if (begins_with(name, "arenas.bin.")) return index < kSmallClasses;
  if (begins_with(name, "arenas.lextent.")) return index < kLargeSizes;
  if (begins_with(name, "stats.")) return pages_of(index) != nullptr || index == kAllArenas;
  return index <= arenas::numbers() || index == kAllArenas;
}

// A line of the table that has nothing to say.
#define ACRE_SKIP(...) ++at;

int read(unsigned node, [[maybe_unused]] size_t index, Value* value) {
  if (node >= kOwnNodes) return read_option(node - kOwnNodes, value);
  const char* name = kTable.node[node].name;
  if ((begins_with(name, "stats.") || begins_with(name, "epoch")) && !refresh_once()) return EAGAIN;
  int error = 0;
  unsigned at = 0;
#define ACRE_R(name, type, expression) \
  if (node == at++) type::put(value, expression);
#define ACRE_W(name, type, expression, change) ACRE_R(name, type, expression)
  ACRE_CTL_NODES(ACRE_R, ACRE_W, ACRE_SKIP, ACRE_SKIP)
#undef ACRE_R
#undef ACRE_W
  return error;
}

int write(unsigned node, size_t index, Value value) {
  if (node >= kOwnNodes) {
    const unsigned option = node - kOwnNodes;
    return change_option(option, kOptionTable[option].type == OptionType::kBool ? value.of_bool : value.of_ssize);
  }
  unsigned at = 0;
#define ACRE_W(name, type, expression, change)            \
  if (node == at++) {                                     \
    [[maybe_unused]] const auto to = type::get(value);    \
    return change;                                        \
  }
  ACRE_CTL_NODES(ACRE_SKIP, ACRE_W, ACRE_SKIP, ACRE_SKIP)
#undef ACRE_W
  return EPERM;
}

int create_arena(extent_hooks_t* hooks, unsigned* number) {
  arenas::ArenaSettings settings;
  settings.hooks = hooks;
  ExplicitArena* arena = arenas::create(settings);
  if (arena == nullptr) return EAGAIN;
  *number = arenas::give_number(*arena);
  if (*number != arenas::kNoNumber) return 0;
  arenas::destroy(*arena);
  return EAGAIN;
}

int act(unsigned node, size_t index) {
  unsigned at = 0;
#define ACRE_V(name, action) \
  if (node == at++) return action;
  ACRE_CTL_NODES(ACRE_SKIP, ACRE_SKIP, ACRE_V, ACRE_SKIP)
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
  ACRE_CTL_NODES(ACRE_SKIP, ACRE_SKIP, ACRE_SKIP, ACRE_T)
#undef ACRE_T
  return EPERM;
}

#undef ACRE_SKIP

}  // namespace acre::ctl
