// The functions of include/acre/jemalloc.h, under acre_ and plain names.
#include "acre/jemalloc.h"

#include <errno.h>
#include <string.h>

#include "cache/upcalls.h"
#include "base/compiler.h"
#include "base/text.h"
#include "cache/registry.h"
#include "control/ctl.h"
#include "control/nodes.h"
#include "control/print.h"
#include "control/utilization.h"
#include "tables/parse.h"

using namespace acre;

#if !ACRE_PREFIX_ONLY
// Weak, since a program may define its own. settings.cc reads malloc_conf.
extern "C" {
ACRE_EXPORT __attribute__((weak)) void (*malloc_message)(void* opaque, const char* text) = nullptr;
ACRE_EXPORT __attribute__((weak)) const char* malloc_conf = nullptr;
}
#endif

static_assert(MALLCTL_ARENAS_ALL == ctl::kAllArenas);

namespace {

// What je_mallctl looks up: where there is one, the name of the same figure with a quantum of 8 (control/quantum8.h).
// It begins with quantum8 in place of the first component.
struct QuantumName {
  const char* text;
  Line<64> line;

  explicit QuantumName(const char* name) : text(name) {
    static constexpr char kReplaced[][14] = {"arenas.", "stats.", "experimental."};
    for (const char* start : kReplaced) {
      if (strncmp(name, start, strlen(start)) != 0) continue;
      line.add("quantum8.").add(name + strlen(start));
      size_t mib[1], length = 1;
      if (ctl::name_to_mib(line.c_str(), mib, &length) == 0) text = line.c_str();
    }
  }
};

}  // namespace

extern "C" {

ACRE_EXPORT int acre_mallctl(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  start_process();
  return ctl::by_name(name, oldp, oldlenp, newp, newlen);
}
ACRE_EXPORT int acre_mallctlnametomib(const char* name, size_t* mibp, size_t* miblenp) {
  start_process();
  return ctl::name_to_mib(name, mibp, miblenp);
}
ACRE_EXPORT int acre_mallctlbymib(const size_t* mib, size_t miblen, void* oldp, size_t* oldlenp, void* newp,
                                  size_t newlen) {
  start_process();
  return ctl::by_mib(mib, miblen, oldp, oldlenp, newp, newlen);
}

ACRE_EXPORT int acre_je_mallctl(const char* name, void* oldp, size_t* oldlenp, void* newp, size_t newlen) {
  start_process();
  return ctl::by_name(QuantumName(name).text, oldp, oldlenp, newp, newlen);
}
ACRE_EXPORT int acre_je_mallctlnametomib(const char* name, size_t* mibp, size_t* miblenp) {
  start_process();
  return ctl::name_to_mib(QuantumName(name).text, mibp, miblenp);
}

ACRE_EXPORT int acre_get_defrag_hint(void* block) { return ctl::is_worth_moving(block); }

ACRE_EXPORT void acre_malloc_stats_print(void (*write_cb)(void* opaque, const char* text), void* opaque,
                                         const char* opts) {
  start_process();
  StatsFormat format = StatsFormat::kText;
  const Omitted omitted = read_letters(opts, &format);
#if !ACRE_PREFIX_ONLY
  if (write_cb == nullptr) write_cb = malloc_message;
#endif
  print_statistics(format, omitted, write_cb, opaque);
}

ACRE_EXPORT int acre_stats_print(const char* format, void (*write)(void* opaque, const char* text), void* opaque) {
  start_process();
  int64_t value;
  if (!parse_value(index_of(Option::stats_format), {format, strlen(format)}, &value)) return EINVAL;
  return print_statistics(static_cast<StatsFormat>(value), {}, write, opaque);
}

ACRE_EXPORT int acre_stat_info(unsigned index, struct acre_stat* out) {
  static constexpr char kUnits[][12] = {"bytes", "blocks", "runs", "count", "nanoseconds", "permille"};
  for (unsigned scope = 0; scope < kStatScopes; ++scope) {
    const StatTable table = stat_table(static_cast<StatScope>(scope));
    if (index >= table.count) {
      index -= table.count;
      continue;
    }
    const StatInfo& info = table.rows[index];
    out->scope = stat_scope_name(static_cast<StatScope>(scope));
    out->name = info.name;
    out->unit = kUnits[static_cast<unsigned>(info.unit)];
    out->counter = info.kind == StatKind::kCounter;
    out->ctl_name = info.ctl;
    out->help = stat_help(static_cast<StatScope>(scope), index);
    out->pages = info.type == StatType::kPages || info.type == StatType::kPages64;
    return 0;
  }
  return -1;
}

ACRE_EXPORT int acre_mallctl_info(unsigned index, struct acre_mallctl_node* out) {
  if (index >= ctl::node_count()) return -1;
  const ctl::Node& node = ctl::node(index);
  *out = {node.name, ctl::name_of(node.type), node.kind == ctl::Kind::kValue, node.writable};
  return 0;
}

#if !ACRE_PREFIX_ONLY
ACRE_PLAIN_NAME(mallctl);
ACRE_PLAIN_NAME(mallctlnametomib);
ACRE_PLAIN_NAME(mallctlbymib);
ACRE_PLAIN_NAME(get_defrag_hint);
ACRE_PLAIN_NAME(malloc_stats_print);
#endif

}  // extern "C"
