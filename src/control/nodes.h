// The table of ctl nodes, and what a node is.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>

#include "acre/extent_hooks.h"
#include "control/stat_nodes.h"
#include "tables/options.h"

namespace acre::ctl {

// kText: a kString that is copied, with its end, to where a char * that the program gives leads, unless that is null.
enum class Type : uint8_t { kVoid, kBool, kUnsigned, kU32, kU64, kSize, kSsize, kString, kText, kHooks, kCounter };

union Value {
  bool of_bool;
  unsigned of_unsigned;
  uint32_t of_u32;
  uint64_t of_u64;
  size_t of_size;
  ssize_t of_ssize;
  const char* of_string;
  extent_hooks_t* of_hooks;
  const uint64_t* of_counter;
};

// What one does with a node.
enum class Kind : uint8_t {
  kValue,   // it is read, and perhaps written
  kAction,  // it does something
  kOrder,   // the same, and it may be told something
  kSink,    // it is written only
  kMaker,   // reading it makes something, and says which
  kLookup,  // it is given an address, or none, and gives an answer
};

// R(name, type, value): a node that is read.
// W(name, type, value, change): one that is written, too; change is given the new value as `to`.
// V(name, action): one that only does something.
// T(name, type, action): the same, and it may be told something: action is given the address of what it is as `to`, or
// null. It is not read.
// O(name, type, change): one that is only written.
// M(name, type, value): one that makes something when it is read.
// L(name, type, value): one that is given an address, as `address`, which is null if none was given.
// In value, change and action `index` is the number in the name; in value `second` is the one after it. change and
// action are error numbers, 0 for none; a value's expression may set `error`.
#define ACRE_CTL_NODES(R, W, V, T, O, M, L)                                        \
  R("version", String, version())                                                  \
  W("epoch", U64, epoch(), renew())                                                \
  R("config.cache_oblivious", Bool, false)                                         \
  R("config.debug", Bool, ACRE_DEBUG)                                              \
  R("config.fill", Bool, true)                                                     \
  R("config.lazy_lock", Bool, false)                                               \
  R("config.malloc_conf", String, "")                                              \
  R("config.prof", Bool, true)                                                     \
  R("config.prof_libgcc", Bool, true)                                              \
  R("config.prof_libunwind", Bool, false)                                          \
  R("config.stats", Bool, true)                                                    \
  R("config.utrace", Bool, true)                                                   \
  R("config.xmalloc", Bool, true)                                                  \
  R("config.enable_cxx", Bool, !ACRE_PREFIX_ONLY)                                  \
  R("config.opt_safety_checks", Bool, true)                                        \
  R("config.opt_size_checks", Bool, false)                                         \
  W("background_thread", Bool, relaxed_load(options().background_thread), set_background_thread(to)) \
  W("max_background_threads", Size, background::most_threads(), set_most_background_threads(to)) \
  R("opt.narenas", Unsigned, arenas::most())                                       \
  R("opt.cache_oblivious", Bool, false)                                            \
  R("opt.confirm_conf", Bool, false)                                               \
  R("opt.dss", String, dss())                                                     \
  R("opt.lg_tcache_max", Size, floor_log2(kSmallMax))                              \
  R("opt.max_background_threads", Size, background::kMostThreads)                  \
  R("opt.metadata_thp", String, "disabled")                                        \
  R("opt.oversize_threshold", Size, 0)                                             \
  R("opt.prof_leak", Bool, options().leaks != LeakMode::kNone && options().leaks != LeakMode::kLocal) \
  R("opt.stats_print_opts", String, options().stats_format == StatsFormat::kJson ? "J" : "") \
  R("opt.percpu_arena", String, "disabled")                                        \
  R("opt.retain", Bool, true)                                                      \
  R("opt.tcache", Bool, true)                                                      \
  R("opt.tcache_max", Size, kSmallMax)                                             \
  R("opt.thp", String, options().huge_pages == HugePages::kAll ? "always" : "default") \
  R("opt.trust_madvise", Bool, true)                                               \
  R("opt.zero_realloc", String, "free")                                            \
  W("thread.arena", Unsigned, arena_of_thread(&error), set_arena_of_thread(to))    \
  R("thread.allocated", U64, bytes_of_thread()->allocated)                         \
  R("thread.allocatedp", Counter, &watched_bytes_of_thread()->allocated)           \
  R("thread.deallocated", U64, bytes_of_thread()->freed)                           \
  R("thread.deallocatedp", Counter, &watched_bytes_of_thread()->freed)             \
  R("thread.peak.read", U64, static_cast<uint64_t>(watched_bytes_of_thread()->peak)) \
  V("thread.peak.reset", reset_peak_of_thread())                                   \
  V("thread.idle", idle_thread())                                                  \
  W("thread.tcache.enabled", Bool, thread_has_cache(), set_thread_has_cache(to))   \
  V("thread.tcache.flush", flush_thread())                                         \
  M("tcache.create", Unsigned, caches::create(&error))                             \
  O("tcache.flush", Unsigned, caches::flush(to))                                   \
  O("tcache.destroy", Unsigned, caches::destroy(to))                               \
  R("arena.#.initialized", Bool, index == kAllArenas || pages_of(index) != nullptr) \
  V("arena.#.decay", decay_arenas(index))                                          \
  V("arena.#.purge", purge_arenas(index))                                          \
  W("arena.#.dirty_decay_ms", Ssize, decay_time(Option::dirty_decay_ms, index, &error), \
    set_decay_time(Option::dirty_decay_ms, index, to))                             \
  W("arena.#.muzzy_decay_ms", Ssize, decay_time(Option::muzzy_decay_ms, index, &error), \
    set_decay_time(Option::muzzy_decay_ms, index, to))                             \
  V("arena.#.reset", reset_arena(index))                                           \
  V("arena.#.destroy", destroy_arena(index))                                       \
  W("arena.#.extent_hooks", Hooks, hooks_of(index, &error), set_hooks_of(index, to)) \
  W("arena.#.name", Text, name_of_arena(index, &error), set_name_of(index, to))    \
  W("arena.#.retain_grow_limit", Size, grow_limit_of(index, &error), set_grow_limit_of(index, to)) \
  L("arenas.create", Unsigned, create_arena(address, &error))                      \
  R("arenas.narenas", Unsigned, arenas::numbers())                                 \
  W("arena.#.dss", String, dss(), set_dss(to))                                    \
  W("arenas.dirty_decay_ms", Ssize, option_value(index_of(Option::dirty_decay_ms)), \
    set_default_decay_time(Option::dirty_decay_ms, to))                            \
  W("arenas.muzzy_decay_ms", Ssize, option_value(index_of(Option::muzzy_decay_ms)), \
    set_default_decay_time(Option::muzzy_decay_ms, to))                            \
  W("prof.active", Bool, profile::is_active(), set_profiling(to))                  \
  T("prof.dump", String, dump_profile(to))                                         \
  T("prof.reset", Size, reset_profile(to))                                         \
  R("prof.lg_sample", Size, floor_log2(larger<uint64_t>(profile::mean(), 1)))      \
  R("prof.interval", U64, static_cast<uint64_t>(options().prof_interval))          \
  W("prof.gdump", Bool, profile::is_at_new_maximum(), report::write_at_new_maximum(to) ? 0 : EAGAIN) \
  O("prof.prefix", String, report::set_prefix(to) ? 0 : EFAULT)                     \
  R("opt.lg_prof_sample", Size, floor_log2(larger<uint64_t>(static_cast<uint64_t>(options().prof_sample), 1))) \
  R("opt.lg_prof_interval", Ssize, lg_interval())                                  \
  W("prof.thread_active_init", Bool, watch::new_threads(), (watch::set_new_threads(to), 0)) \
  W("thread.prof.active", Bool, is_thread_profiled(&error), set_thread_profiled(to)) \
  T("leaks.dump", String, dump_leaks(to))                                          \
  R("arenas.quantum", Size, kQuantum)                                              \
  R("arenas.page", Size, kPageBytes)                                               \
  R("arenas.tcache_max", Size, kSmallMax)                                          \
  R("arenas.nbins", Unsigned, kSmallClasses)                                       \
  R("arenas.nhbins", Unsigned, kSmallClasses)                                      \
  R("arenas.bin.#.size", Size, run_shape(class_at(index)).block_bytes)             \
  R("arenas.bin.#.nregs", U32, run_shape(class_at(index)).capacity)                \
  R("arenas.bin.#.slab_size", Size, run_shape(class_at(index)).pages * kPageBytes) \
  R("arenas.bin.#.nshards", U32, 1)                                                \
  R("arenas.nlextents", Unsigned, kLargeSizes)                                     \
  R("arenas.lextent.#.size", Size, size_of_large(index))                           \
  L("arenas.lookup", Unsigned, arena_of_block(address, &error))                    \
  R("memory.held", Size, limit::held())                                            \
  R("stats.tags.numbers", Unsigned, tags::numbers())                               \
  R("stats.tags.#.name", String, name_of_tag(index, &error))                       \
  R("stats.metadata_thp", Size, 0)                                                 \
  R("stats.background_thread.num_threads", Size, background_thread_runs() ? 1 : 0) \
  R("stats.arenas.#.dss", String, dss())                                          \
  R("stats.arenas.#.dirty_decay_ms", Ssize, decay_time(Option::dirty_decay_ms, index, &error)) \
  R("stats.arenas.#.muzzy_decay_ms", Ssize, decay_time(Option::muzzy_decay_ms, index, &error)) \
  R("stats.arenas.#.lextents.#.curlextents", Size, count_large(index, size_of_large(second)))

// Then follow the nodes of all figures (stat_nodes.h), and opt.NAME of all options, in their order.
inline constexpr unsigned kOwnNodes = 0
#define ACRE_N(...) +1
    ACRE_CTL_NODES(ACRE_N, ACRE_N, ACRE_N, ACRE_N, ACRE_N, ACRE_N, ACRE_N)
#undef ACRE_N
    ;
inline constexpr unsigned kFirstOption = kOwnNodes + kStatNodes;
inline constexpr unsigned kNodes = kFirstOption + kOptionCount;

// Without pointers, which would have to be relocated in every process.
struct Node {
  char name[64] = {};
  Type type = Type::kVoid;
  Kind kind = Kind::kAction;
  bool writable = false;

  constexpr Node() = default;
  constexpr Node(const char* before, const char* after, Type of, Kind what, bool is_writable = false)
      : type(of), kind(what), writable(is_writable) {
    size_t at = 0;
    for (; *before != '\0'; ++before) name[at++] = *before;
    for (; *after != '\0'; ++after) name[at++] = *after;
    name[at] = '\0';  // beyond the end: the name is too long
  }
};
const Node& node(unsigned index);

// The node that a name means, numbers in the places of its `#`; null: there is none (ctl.cc).
const Node* node_named(const char* name);

size_t size_of(Type type);
const char* name_of(Type type);  // as C writes it

// Whether a number may stand in this node's name. at: 0 for its first, 1 for its second.
bool is_valid_index(unsigned node, unsigned at, size_t index);
inline constexpr unsigned kMostIndices = 2;

// What a kLookup says about an address. Returns an error number, 0 for none.
int look_up(unsigned node, const void* address, Value* value);

// The node's value, and what a new value or an action does. Return an error number, 0 for none.
int read(unsigned node, size_t index, size_t second, Value* value);
int write(unsigned node, size_t index, Value to);
int act(unsigned node, size_t index);
int tell(unsigned node, size_t index, const Value* to);  // to: null if nothing was said

}  // namespace acre::ctl
