// The parts of rows of ctl nodes (own_nodes.h), and the functions that rows call.
#pragma once

#include <errno.h>

#include "acre/acre.h"
#include "control/arena_nodes.h"
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

struct Row {
  const char* name;
  Type type;
  Kind kind;
  bool writable;
  Handler* handler;
};

constexpr Row read_only(const char* name, Type type, Handler* of) { return {name, type, Kind::kValue, false, of}; }
constexpr Row read_write(const char* name, Type type, Handler* of) { return {name, type, Kind::kValue, true, of}; }
constexpr Row action(const char* name, Handler* of) { return {name, Type::kVoid, Kind::kAction, false, of}; }
constexpr Row order(const char* name, Type type, Handler* of) { return {name, type, Kind::kOrder, true, of}; }
constexpr Row sink(const char* name, Type type, Handler* of) { return {name, type, Kind::kSink, true, of}; }
constexpr Row maker(const char* name, Type type, Handler* of) { return {name, type, Kind::kMaker, false, of}; }
constexpr Row lookup(const char* name, Type type, Handler* of) { return {name, type, Kind::kLookup, false, of}; }
constexpr Row query(const char* name, Handler* of) { return {name, Type::kVoid, Kind::kQuery, false, of}; }

// get returns the value; set is a Handler. Both are lambdas without captures: their types alone identify them.
template <class Get>
constexpr Row value(const char* name, Type type, Get) {
  return read_only(name, type, [](Call& call) { return call.value = Get{}(call), 0; });
}
template <class Get, class Set>
constexpr Row value(const char* name, Type type, Get, Set) {
  return read_write(name, type, [](Call& call) { return call.is_told ? Set{}(call) : (call.value = Get{}(call), 0); });
}
// A function of the program's that acre calls.
template <auto& kHook>
constexpr Row hook(const char* name) {
  return read_write(name, Type::kFunction, [](Call& call) {
    if (call.is_told) kHook.store(call.to.as<decltype(kHook.load())>());
    call.value = kHook.load();
    return 0;
  });
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
// The result stays valid as long as the tag exists. ENOENT: the tag was removed after the node was looked up.
Handler tag_name;
// Applies to arenas that are made from now on.
template <Option kOf>
int default_decay_ms(Call& call) {
  call.value = option_value(index_of(kOf));
  return !call.is_told || set_option(index_of(kOf), call.to.as<ssize_t>(), OptionSource::kRunTime) ? 0 : EFAULT;
}
// Whether memory comes from the data segment (sbrk), and how. It is fixed at the start, so no change is accepted.
Handler dss;
int set_background_thread(bool on);
int set_most_background_threads(size_t most);
int change_option(unsigned option, int64_t value);
// Sampling can begin at any time, even if the option prof was not set at the start.
int set_profiling(bool on);
// Returns -1 for no interval, like jemalloc.
ssize_t lg_interval();
// The end of the path tells the kind of profile. Without a path, acre chooses a name.
Handler dump_profile, dump_leaks, reset_profile, thread_prof_active;

}  // namespace acre::ctl
