#include "control/nodes.h"

#include <errno.h>
#include <string.h>

#include <utility>

#include "control/own_nodes.h"
#include "control/snapshot.h"
#include "tables/options.h"

namespace acre::ctl {

namespace {

// The nodes of figures: a group for each kind of thing that has figures, with a node for each row of its table.
struct StatGroup {
  char prefix[44];
  StatScope scope;
  unsigned lock = 0;  // for kLock: as in snapshot.h

  constexpr StatTable table() const { return stat_table(scope); }
};

constexpr StatGroup kStatGroups[] = {
    {"stats.", StatScope::kProcess},
#define ACRE_X(name, help) \
  {"stats.mutexes." #name ".", StatScope::kLock, static_cast<unsigned>(ProcessLock::name)},
    ACRE_PROCESS_LOCKS(ACRE_X)
#undef ACRE_X
    {"stats.arenas.#.", StatScope::kArena},
    {"stats.arenas.#.mutexes.extents_dirty.", StatScope::kLock, kPagesLock},
    {"stats.arenas.#.bins.#.", StatScope::kClass},
    {"stats.arenas.#.bins.#.mutex.", StatScope::kLock, kBinLock},
    {"stats.arenas.#.extents.#.", StatScope::kLength},
    {"stats.tags.#.", StatScope::kTag},
};

constexpr unsigned count_stat_nodes() {
  unsigned count = 0;
  for (const StatGroup& group : kStatGroups) count += group.table().count;
  return count;
}
constexpr unsigned kStatNodes = count_stat_nodes();

constexpr unsigned kOwnNodes = sizeof kRows / sizeof kRows[0];
constexpr unsigned kFirstOption = kOwnNodes + kStatNodes;
constexpr unsigned kNodes = kFirstOption + kOptionCount;

constexpr Type type_of(StatType type) {
  switch (type) {
    case StatType::kSize:
    case StatType::kPages: return Type::kSize;
    case StatType::kUnsigned: return Type::kUnsigned;
    case StatType::kU32: return Type::kU32;
    default: return Type::kU64;
  }
}

constexpr Type type_of(OptionType type) {
  switch (type) {
    case OptionType::kBool: return Type::kBool;
    case OptionType::kChoice:
    case OptionType::kPath: return Type::kString;
    default: return Type::kSsize;
  }
}

struct Table {
  Node node[kNodes];

  constexpr Table() {
    unsigned at = 0;
    for (const Row& row : kRows) node[at++] = Node(row.name, "", row.type, row.kind, row.writable);
    for (const StatGroup& group : kStatGroups) {
      for (unsigned row = 0; row < group.table().count; ++row) {
        const StatInfo& info = group.table().rows[row];
        node[at++] = Node(group.prefix, info.ctl, type_of(info.type), Kind::kValue);
      }
    }
    for (const OptionInfo& info : kOptionTable) {
      const Type type = type_of(info.type);
      const bool writable = info.change == Change::kAnyTime && type != Type::kString;
      node[at++] = Node("opt.", info.name, type, Kind::kValue, writable);
    }
  }
};
constexpr Table kTable;

// Finds the row by comparisons: a table of pointers would have to be relocated in every process.
template <size_t... kRow>
int use_row(unsigned node, Call& call, std::index_sequence<kRow...>) {
  int error = EPERM;
  (void)((node == kRow && (error = kRows[kRow].handler(call), true)) || ...);
  return error;
}

constexpr bool same_names(const Node& a, const Node& b) {
  for (unsigned i = 0; i < sizeof a.name; ++i) {
    if (a.name[i] != b.name[i]) return false;
  }
  return true;
}
// A unit test checks the names of figures: compilers limit the steps of a constant expression.
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

bool begins_with(const char* name, const char* start) { return strncmp(name, start, strlen(start)) == 0; }

int use_option(unsigned option, Call& call) {
  if (call.is_told) return change_option(option, call.to.as<int64_t>());
  const int64_t now = option_value(option);
  switch (kOptionTable[option].type) {
    case OptionType::kChoice: call.value = option_value_name(option, now); break;
    case OptionType::kPath: call.value = path_of(now); break;
    default: call.value = now; break;
  }
  return 0;
}

// number: the figure's, counted over all groups.
int use_figure(unsigned number, Call& call) {
  if (call.is_told) return EPERM;
  const StatGroup* group = kStatGroups;
  for (; number >= group->table().count; ++group) number -= group->table().count;
  uint64_t figure;
  if (group->scope == StatScope::kTag) {
    TagInfo info;
    const Tag* tag = tags::of_number(call.index);
    if (tag == nullptr || !tags::describe(tag, &info)) return ENOENT;
    const TagStatistics figures = statistics_of(info);
    figure = figures_of(figures)[number];
  } else {
    if (!refresh_once()) return EAGAIN;
    figure = read_figure({group->scope, number, group->lock, call.index, call.second});
  }
  const StatType type = group->table().rows[number].type;
  if (type == StatType::kPages || type == StatType::kPages64) figure /= kPageBytes;
  call.value = figure;
  return 0;
}

}  // namespace

unsigned node_count() { return kNodes; }
const Node& node(unsigned index) { return kTable.node[index]; }

bool is_valid_index(unsigned node, unsigned at, size_t index) {
  const char* name = kTable.node[node].name;
  if (begins_with(name, "arenas.bin.")) return index < kSmallClasses;
  if (begins_with(name, "quantum8.bin.")) return index < quantum8::kBins;
  if (at == 1 && begins_with(name, "quantum8.")) return index < quantum8::kBins;
  if (begins_with(name, "arenas.lextent.")) return index < kLargeSizes;
  if (at == 1 && begins_with(name, "stats.arenas.#.lextents.")) return index < kLargeSizes;
  if (at == 1 && begins_with(name, "stats.arenas.#.extents.")) return index < FreeRuns::kBins;
  if (at == 1) return index < kSmallClasses;
  if (begins_with(name, "stats.tags.")) return tags::of_number(index) != nullptr;
  if (begins_with(name, "stats.") || begins_with(name, "quantum8.")) return pages_of(index) != nullptr || index == kAllArenas;
  return index <= arenas::numbers() || index == kAllArenas;
}

int use(unsigned node, Call& call) {
  if (node >= kFirstOption) return use_option(node - kFirstOption, call);
  if (node >= kOwnNodes) return use_figure(node - kOwnNodes, call);
  const char* name = kTable.node[node].name;
  const bool is_figure = !call.is_told && (begins_with(name, "stats.") || begins_with(name, "epoch") ||
                                           begins_with(name, "experimental.") || begins_with(name, "quantum8."));
  return is_figure && !refresh_once() ? EAGAIN : use_row(node, call, std::make_index_sequence<kOwnNodes>());
}

}  // namespace acre::ctl
