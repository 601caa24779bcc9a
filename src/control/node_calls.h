// The parts of rows of ctl nodes (own_nodes.h), and the functions that rows call.
#pragma once

#include <errno.h>

#include <type_traits>

#include "control/arena_nodes.h"
#include "control/caches.h"
#include "control/ctl.h"
#include "control/nodes.h"
#include "control/quantum8.h"
#include "control/snapshot.h"
#include "control/this_thread.h"
#include "control/utilization.h"
#include "manual/tags.h"
#include "observe/sampler.h"
#include "reclaim/background.h"
#include "report/profile_file.h"
#include "report/profiler.h"
#include "sample/profile.h"

namespace acre::ctl {

// --- Rows -----------------------------------------------------------------------------------------------------

using Handler = int(Call& call);

struct Row {
  const char* name;
  Type type;
  Kind kind;
  bool writable;
  Handler* handler;
};

// The member of Value that has a value of this type.
template <Type kType>
constexpr auto member() {
  if constexpr (kType == Type::kBool) return &Value::of_bool;
  else if constexpr (kType == Type::kUnsigned) return &Value::of_unsigned;
  else if constexpr (kType == Type::kU32) return &Value::of_u32;
  else if constexpr (kType == Type::kU64) return &Value::of_u64;
  else if constexpr (kType == Type::kSize) return &Value::of_size;
  else if constexpr (kType == Type::kSsize) return &Value::of_ssize;
  else if constexpr (kType == Type::kHooks) return &Value::of_hooks;
  else if constexpr (kType == Type::kCounter) return &Value::of_counter;
  else return &Value::of_string;
}

// A row's function is a lambda without captures: its type alone identifies it.
template <Type kType, class Get>
int get(Call& call) {
  auto& value = call.value.*member<kType>();
  value = static_cast<std::remove_reference_t<decltype(value)>>(Get{}(call));
  return call.error;
}
template <Type kType, class Get, class Set>
int get_or_set(Call& call) {
  return call.is_told ? Set{}(call) : get<kType, Get>(call);
}
template <class Do>
int run(Call& call) {
  return Do{}(call);
}

template <Type kType, class Get>
constexpr Row value(const char* name, Get) {
  return {name, kType, Kind::kValue, false, get<kType, Get>};
}
template <Type kType, class Get, class Set>
constexpr Row value(const char* name, Get, Set) {
  return {name, kType, Kind::kValue, true, get_or_set<kType, Get, Set>};
}
template <class Do>
constexpr Row action(const char* name, Do) {
  return {name, Type::kVoid, Kind::kAction, false, run<Do>};
}
template <Type kType, class Do>
constexpr Row order(const char* name, Do) {
  return {name, kType, Kind::kOrder, true, run<Do>};
}
template <Type kType, class Set>
constexpr Row sink(const char* name, Set) {
  return {name, kType, Kind::kSink, true, run<Set>};
}
template <Type kType, class Get>
constexpr Row maker(const char* name, Get) {
  return {name, kType, Kind::kMaker, false, get<kType, Get>};
}
template <Type kType, class Get>
constexpr Row lookup(const char* name, Get) {
  return {name, kType, Kind::kLookup, false, get<kType, Get>};
}
template <class Do>
constexpr Row query(const char* name, Do) {
  return {name, Type::kVoid, Kind::kQuery, false, run<Do>};
}

// --- Functions (node_calls.cc) --------------------------------------------------------------------------------

// Large sizes are whole pages. Sizes up to kLargestRun are listed page by page. Larger blocks are mappings of their
// own: powers of two are listed, and at last the largest size that a block may have.
inline constexpr size_t kLargestRun = size_t{64} << 20;
inline constexpr unsigned kStepsOfAPage = (kLargestRun - kSmallMax) / kPageBytes;
inline constexpr unsigned kDoublings = floor_log2(size_t{PTRDIFF_MAX}) - floor_log2(kLargestRun);
inline constexpr unsigned kLargeSizes = kStepsOfAPage + kDoublings + 1;

constexpr SizeClass class_at(size_t index) { return static_cast<SizeClass>(index); }
constexpr unsigned bin_at(size_t index) { return static_cast<unsigned>(index); }

size_t size_of_large(size_t index);
const char* version();
int renew();
// The result stays valid as long as the tag exists. ENOENT: the tag was removed after the node was looked up.
const char* name_of_tag(size_t index, int* error);
// Applies to arenas that are made from now on.
int set_default_decay_time(Option of, int64_t ms);
// Whether memory comes from the data segment (sbrk), and how. It is fixed at the start: set_dss() accepts no change.
const char* dss();
int set_dss(const char* to);
int set_background_thread(bool on);
int set_most_background_threads(size_t most);
int change_option(unsigned option, int64_t value);
// Sampling can begin at any time, even if the option prof was not set at the start.
int set_profiling(bool on);
// Returns -1 for no interval, like jemalloc.
ssize_t lg_interval();
// The end of the path tells the kind of profile. Without a path, acre chooses a name.
int dump_profile(const char* const* path);
int dump_leaks(const char* const* path);
int reset_profile(const size_t* lg_sample);
bool is_thread_profiled(int* error);
int set_thread_profiled(bool on);

}  // namespace acre::ctl
