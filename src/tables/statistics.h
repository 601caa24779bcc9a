// Figures, declared once in the tables below. The text for people, JSON, OpenMetrics, the ctl nodes stats.* and the
// tables of docs/statistics.md follow. A new figure is a line here and a line in control/gather.cc that counts.
//
// All figures have 64 bits. Memory is in bytes, but in ctl some figures are in pages, as jemalloc's are.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre {

enum class StatKind : uint8_t {
  kGauge,    // goes up and down
  kCounter,  // only goes up
};
enum class StatUnit : uint8_t { kBytes, kBlocks, kRuns, kCount, kNanoseconds, kPermille };

// The type of a figure in ctl. kPages: pages, a size_t. kPages64: pages, a uint64_t.
enum class StatType : uint8_t { kSize, kPages, kUnsigned, kU32, kU64, kPages64 };

// X(name, kind, unit, name in ctl, type in ctl, help): one line for each figure.
// clang-format off

// The process; in ctl after "stats.". mapped is the sum of the lines from live_small to metadata_unused.
#define ACRE_PROCESS_STATISTICS(X) \
  X(allocated, kGauge, kBytes, "allocated", kSize, "in live blocks: whole blocks of their size class, whole pages of large and huge ones") \
  X(requested, kGauge, kBytes, "requested", kSize, "of allocated, what was asked for: the rest after rounding") \
  X(rounding, kGauge, kBytes, "rounding", kSize, "of allocated, what blocks are larger than was asked for: exact for large and huge ones, for others by a sample of requests") \
  X(active, kGauge, kBytes, "active", kSize, "in the pages of runs in use and of huge blocks") \
  X(resident, kGauge, kBytes, "resident", kSize, "at most so much is resident: active, dirty, muzzy, purging and metadata") \
  X(mapped, kGauge, kBytes, "mapped", kSize, "all that acre has mapped: the sum of what follows down to metadata_unused") \
  X(live_small, kGauge, kBytes, "live_small", kSize, "live blocks of up to 32 KiB") \
  X(live_large, kGauge, kBytes, "live_large", kSize, "live large blocks") \
  X(live_huge, kGauge, kBytes, "live_huge", kSize, "live huge blocks") \
  X(private_lists, kGauge, kBytes, "private_lists", kSize, "free blocks on private lists, next to be allocated") \
  X(deferred, kGauge, kBytes, "deferred", kSize, "free blocks on the deferred lists of owned runs: freed by their owners") \
  X(remote_lists, kGauge, kBytes, "remote_lists", kSize, "free blocks on the remote lists of owned runs: freed by others") \
  X(uncarved, kGauge, kBytes, "uncarved", kSize, "blocks of owned runs that were never cut") \
  X(outboxes, kGauge, kBytes, "outboxes", kSize, "free blocks on their way to runs of others") \
  X(run_free, kGauge, kBytes, "run_free", kSize, "free blocks, cut or not, in runs that no thread owns") \
  X(run_rest, kGauge, kBytes, "run_rest", kSize, "ends of runs, too short for a block") \
  X(transit, kGauge, kBytes, "transit", kSize, "pages on their way between a page heap and a run; none while all threads rest") \
  X(dirty, kGauge, kBytes, "dirty", kSize, "dirty free pages") \
  X(muzzy, kGauge, kBytes, "muzzy", kSize, "muzzy free pages") \
  X(purging, kGauge, kBytes, "purging", kSize, "free pages that are being returned at this moment") \
  X(clean, kGauge, kBytes, "retained", kSize, "clean free pages: address space that holds no memory") \
  X(metadata, kGauge, kBytes, "metadata", kSize, "acre's own structures") \
  X(metadata_unused, kGauge, kBytes, "metadata_unused", kSize, "mapped for acre's own structures and not needed yet") \
  X(reserved, kGauge, kBytes, "reserved", kSize, "address space for run headers to come: not mapped as memory, and no part of mapped") \
  X(process_resident, kGauge, kBytes, "process_resident", kSize, "resident memory of the whole process, as the kernel counts it") \
  X(small_blocks, kGauge, kBlocks, "small_blocks", kSize, "live blocks of up to 32 KiB") \
  X(free_blocks, kGauge, kBlocks, "free_blocks", kSize, "free blocks in all runs, lists and outboxes, cut or not") \
  X(large_blocks, kGauge, kBlocks, "large_blocks", kSize, "live large blocks") \
  X(huge_blocks, kGauge, kBlocks, "huge_blocks", kSize, "live huge blocks") \
  X(threads, kGauge, kCount, "threads", kUnsigned, "threads with a heap, and fallback heaps that threads at their end share") \
  X(arenas, kGauge, kCount, "narenas", kUnsigned, "arenas made so far") \
  X(refills, kCounter, kBlocks, "refills", kU64, "private lists filled") \
  X(new_runs, kCounter, kRuns, "new_runs", kU64, "runs cut from free pages") \
  X(adoptions, kCounter, kRuns, "adoptions", kU64, "runs taken by who frees in them: the last owner, or any if that has ended") \
  X(remote_frees, kCounter, kBlocks, "remote_frees", kU64, "blocks that went through an outbox") \
  X(guarded, kCounter, kBlocks, "guarded", kU64, "blocks that lay between guard pages (option guard)") \
  X(guarded_live, kGauge, kBlocks, "guarded_live", kSize, "of these, the live ones") \
  X(unguarded, kCounter, kBlocks, "unguarded", kU64, "blocks that were to be guarded when there was no room") \
  X(zero_reallocs, kCounter, kCount, "zero_reallocs", kSize, "calls of realloc with a block and size 0") \
  X(purges, kCounter, kCount, "purges", kU64, "system calls that returned pages") \
  X(purged, kCounter, kBytes, "purged", kU64, "pages that became clean by them") \
  X(calls_mmap, kCounter, kCount, "calls_mmap", kU64, "calls of mmap by acre") \
  X(calls_munmap, kCounter, kCount, "calls_munmap", kU64, "calls of munmap by acre") \
  X(calls_mprotect, kCounter, kCount, "calls_mprotect", kU64, "calls of mprotect by acre") \
  X(calls_mremap, kCounter, kCount, "calls_mremap", kU64, "calls of mremap by acre") \
  X(calls_madvise, kCounter, kCount, "calls_madvise", kU64, "calls of madvise by acre") \
  X(minor_faults, kCounter, kCount, "minor_faults", kU64, "page faults of the whole process that read nothing from a disk") \
  X(major_faults, kCounter, kCount, "major_faults", kU64, "page faults of the whole process that did")

// An arena; in ctl after "stats.arenas.#.".
#define ACRE_ARENA_STATISTICS(X) \
  X(threads, kGauge, kCount, "nthreads", kUnsigned, "threads bound to it") \
  X(uptime, kGauge, kNanoseconds, "uptime", kU64, "time since it was made") \
  X(active, kGauge, kBytes, "pactive", kPages, "in the pages of runs in use") \
  X(dirty, kGauge, kBytes, "pdirty", kPages, "dirty free pages") \
  X(muzzy, kGauge, kBytes, "pmuzzy", kPages, "muzzy free pages") \
  X(purging, kGauge, kBytes, "ppurging", kPages, "free pages that are being returned at this moment") \
  X(mapped, kGauge, kBytes, "mapped", kSize, "in its chunks: active, dirty, muzzy, purging and clean") \
  X(clean, kGauge, kBytes, "retained", kSize, "clean free pages") \
  X(resident, kGauge, kBytes, "resident", kSize, "at most so much is resident: active, dirty, muzzy and purging") \
  X(base, kGauge, kBytes, "base", kSize, "of metadata: the arena's own structure and its page heap's run headers") \
  X(internal, kGauge, kBytes, "internal", kSize, "of metadata: the heaps of its threads") \
  X(spare_headers, kGauge, kCount, "extent_avail", kSize, "run headers that stand for no run now") \
  X(live_small, kGauge, kBytes, "small.allocated", kSize, "live blocks of up to 32 KiB") \
  X(small_blocks, kGauge, kBlocks, "small.blocks", kSize, "live blocks of up to 32 KiB") \
  X(small_allocated, kGauge, kBlocks, "small.nmalloc", kU64, "blocks of up to 32 KiB ever allocated: as a size class's") \
  X(small_freed, kGauge, kBlocks, "small.ndalloc", kU64, "of these, the blocks that are free again") \
  X(live_large, kGauge, kBytes, "large.allocated", kSize, "live large blocks") \
  X(rounding, kGauge, kBytes, "rounding", kSize, "of live blocks, what they are larger than was asked for: as the process's") \
  X(large_blocks, kGauge, kBlocks, "large.blocks", kSize, "live large blocks") \
  X(cached, kGauge, kBytes, "tcache_bytes", kSize, "private_lists, deferred and outboxes: carved, free, and for one thread alone") \
  X(private_lists, kGauge, kBytes, "private_lists", kSize, "free blocks on private lists") \
  X(deferred, kGauge, kBytes, "deferred", kSize, "free blocks on the deferred lists of owned runs") \
  X(remote_lists, kGauge, kBytes, "remote_lists", kSize, "free blocks on the remote lists of owned runs") \
  X(uncarved, kGauge, kBytes, "uncarved", kSize, "blocks of owned runs that were never cut") \
  X(outboxes, kGauge, kBytes, "outboxes", kSize, "free blocks on their way to its runs") \
  X(run_free, kGauge, kBytes, "run_free", kSize, "free blocks, cut or not, in runs that no thread owns") \
  X(run_rest, kGauge, kBytes, "run_rest", kSize, "ends of runs, too short for a block") \
  X(transit, kGauge, kBytes, "transit", kSize, "pages on their way between the page heap and a run") \
  X(refills, kCounter, kBlocks, "small.nfills", kU64, "private lists filled by its threads") \
  X(dirty_purges, kCounter, kCount, "dirty_npurge", kU64, "sweeps over dirty pages that returned some") \
  X(dirty_calls, kCounter, kCount, "dirty_nmadvise", kU64, "system calls for dirty pages") \
  X(dirty_purged, kCounter, kBytes, "dirty_purged", kPages64, "dirty pages that became muzzy or clean by them") \
  X(muzzy_purges, kCounter, kCount, "muzzy_npurge", kU64, "sweeps over muzzy pages that returned some") \
  X(muzzy_calls, kCounter, kCount, "muzzy_nmadvise", kU64, "system calls for muzzy pages") \
  X(muzzy_purged, kCounter, kBytes, "muzzy_purged", kPages64, "muzzy pages that became clean by them")

// A size class; in ctl after "stats.arenas.#.bins.#.".
#define ACRE_CLASS_STATISTICS(X) \
  X(live, kGauge, kBlocks, "curregs", kSize, "live blocks") \
  X(private_list, kGauge, kBlocks, "private_list", kSize, "free blocks on private lists") \
  X(deferred, kGauge, kBlocks, "deferred", kSize, "free blocks on the deferred lists of owned runs") \
  X(remote_list, kGauge, kBlocks, "remote_list", kSize, "free blocks on the remote lists of owned runs") \
  X(uncarved, kGauge, kBlocks, "uncarved", kSize, "blocks of owned runs that were never cut") \
  X(outbox, kGauge, kBlocks, "outbox", kSize, "free blocks in outboxes") \
  X(free, kGauge, kBlocks, "free", kSize, "free blocks, cut or not, in runs that no thread owns") \
  X(runs, kGauge, kRuns, "curslabs", kSize, "runs: owned, full, binned, shared and sampled") \
  X(owned, kGauge, kRuns, "owned_slabs", kSize, "runs that a thread owns") \
  X(full, kGauge, kRuns, "full_slabs", kSize, "runs that no thread owns, with too little free to be looked for") \
  X(binned, kGauge, kRuns, "binned_slabs", kSize, "runs in the arena's bin") \
  X(shared, kGauge, kRuns, "shared_slabs", kSize, "runs taken from an idle owner, whose blocks all threads may have") \
  X(sampled, kGauge, kRuns, "sampled_slabs", kSize, "runs of blocks that the heap profiler has sampled, and of free ones for more") \
  X(nonfull, kGauge, kRuns, "nonfull_slabs", kSize, "runs with a free block, whoever has them: all but full ones and those of sampled blocks") \
  X(rounding, kGauge, kBytes, "rounding", kSize, "of live blocks, what they are larger than was asked for, by a sample of requests") \
  X(fragmentation, kGauge, kPermille, "fragmentation", kSize, "the part of the runs' memory that is in no live block, in thousandths") \
  X(allocated, kGauge, kBlocks, "nmalloc", kU64, "blocks ever allocated, without those that were sampled for the heap profile or guarded and are free again; a thread's private list and its last 1024 blocks may make it differ while threads run") \
  X(freed, kGauge, kBlocks, "ndalloc", kU64, "of these, the blocks that are free again") \
  X(refills, kCounter, kBlocks, "nfills", kU64, "private lists filled") \
  X(new_runs, kCounter, kRuns, "nslabs", kU64, "runs cut from free pages") \
  X(adoptions, kCounter, kRuns, "nadoptions", kU64, "runs taken by who frees in them: the last owner, or any if that has ended") \
  X(remote_frees, kCounter, kBlocks, "nremote_frees", kU64, "blocks that went through an outbox")

// A lock; in ctl after "stats.mutexes.ctl.", "stats.arenas.#.mutexes.extents_dirty.", "stats.arenas.#.bins.#.mutex." …
#define ACRE_LOCK_STATISTICS(X) \
  X(acquisitions, kCounter, kCount, "num_ops", kU64, "how often it was taken") \
  X(waits, kCounter, kCount, "num_wait", kU64, "how often a thread had to sleep for it") \
  X(spins, kCounter, kCount, "num_spin_acq", kU64, "how often it was had after a few turns of waiting awake") \
  X(wait_time, kCounter, kNanoseconds, "total_wait_time", kU64, "time that threads waited for it, asleep and awake") \
  X(longest_wait, kGauge, kNanoseconds, "max_wait_time", kU64, "the longest of these waits") \
  X(most_waiting, kGauge, kCount, "max_num_thds", kU32, "most threads that waited at the same time")

// The large and the free runs of about one length; in ctl after "stats.arenas.#.extents.#.".
#define ACRE_LENGTH_STATISTICS(X) \
  X(large_blocks, kGauge, kBlocks, "nlarge", kSize, "live large blocks") \
  X(large, kGauge, kBytes, "large_bytes", kSize, "their pages") \
  X(dirty_runs, kGauge, kRuns, "ndirty", kSize, "dirty free runs") \
  X(dirty, kGauge, kBytes, "dirty_bytes", kSize, "their pages") \
  X(muzzy_runs, kGauge, kRuns, "nmuzzy", kSize, "muzzy free runs") \
  X(muzzy, kGauge, kBytes, "muzzy_bytes", kSize, "their pages") \
  X(clean_runs, kGauge, kRuns, "nretained", kSize, "clean free runs") \
  X(clean, kGauge, kBytes, "retained_bytes", kSize, "their pages")

// A tag; in ctl after "stats.tags.#.". Always exact.
#define ACRE_TAG_STATISTICS(X) \
  X(live, kGauge, kBytes, "live", kU64, "live blocks") \
  X(allocated, kCounter, kBytes, "allocated", kU64, "all blocks so far") \
  X(peak, kGauge, kBytes, "peak", kU64, "the most that was live") \
  X(limit, kGauge, kBytes, "limit", kU64, "what may be live at most; without a limit in ctl 18446744073709551615, in OpenMetrics nothing") \
  X(refused, kCounter, kCount, "refused", kU64, "allocations that were refused for the limit")

// The locks of which a process has one: X(name, what it guards).
#define ACRE_PROCESS_LOCKS(X) \
  X(ctl, "the figures that ctl reports from") \
  X(registry, "the list of heaps, and which thread has which arena") \
  X(huge, "the count of huge blocks and their headers") \
  X(window, "where chunks come from") \
  X(units, "spare headers of slab runs") \
  X(metadata, "memory for acre's own structures")

// clang-format on

#define ACRE_X(name, kind, unit, ctl, type, help) uint64_t name = 0;
struct ProcessStatistics { ACRE_PROCESS_STATISTICS(ACRE_X) };
struct ArenaStatistics { ACRE_ARENA_STATISTICS(ACRE_X) };
struct ClassStatistics { ACRE_CLASS_STATISTICS(ACRE_X) };
struct LockStatistics { ACRE_LOCK_STATISTICS(ACRE_X) };
struct LengthStatistics { ACRE_LENGTH_STATISTICS(ACRE_X) };
struct TagStatistics { ACRE_TAG_STATISTICS(ACRE_X) };
#undef ACRE_X

enum class ProcessLock : unsigned {
#define ACRE_X(name, help) name,
  ACRE_PROCESS_LOCKS(ACRE_X)
#undef ACRE_X
};

// --- The tables, for code that iterates over them -------------------------------------------------------------

// No pointers, since each process would have to relocate them.
struct StatInfo {
  char name[20];
  char ctl[20];
  StatKind kind;
  StatUnit unit;
  StatType type;
};

#define ACRE_X(name, kind, unit, ctl, type, help) {#name, ctl, StatKind::kind, StatUnit::unit, StatType::type},
inline constexpr StatInfo kProcessTable[] = {ACRE_PROCESS_STATISTICS(ACRE_X)};
inline constexpr StatInfo kArenaTable[] = {ACRE_ARENA_STATISTICS(ACRE_X)};
inline constexpr StatInfo kClassTable[] = {ACRE_CLASS_STATISTICS(ACRE_X)};
inline constexpr StatInfo kLockTable[] = {ACRE_LOCK_STATISTICS(ACRE_X)};
inline constexpr StatInfo kLengthTable[] = {ACRE_LENGTH_STATISTICS(ACRE_X)};
inline constexpr StatInfo kTagTable[] = {ACRE_TAG_STATISTICS(ACRE_X)};
#undef ACRE_X

// The first rows of kLengthTable are about large blocks, the others about free runs.
inline constexpr unsigned kLengthRowsOfLarge = 2;

inline constexpr char kProcessLockNames[][12] = {
#define ACRE_X(name, help) #name,
    ACRE_PROCESS_LOCKS(ACRE_X)
#undef ACRE_X
};
inline constexpr unsigned kProcessLocks = sizeof kProcessLockNames / sizeof kProcessLockNames[0];

enum class StatScope : uint8_t { kProcess, kArena, kClass, kLock, kLength, kTag };
inline constexpr unsigned kStatScopes = 6;

struct StatTable {
  const StatInfo* rows;
  unsigned count;
};

// The figures in a struct, in the order of its table.
template <class Statistics>
const uint64_t* figures_of(const Statistics& statistics) {
  return reinterpret_cast<const uint64_t*>(&statistics);
}

constexpr StatTable stat_table(StatScope scope) {
  switch (scope) {
    case StatScope::kProcess: return {kProcessTable, sizeof kProcessTable / sizeof(StatInfo)};
    case StatScope::kArena: return {kArenaTable, sizeof kArenaTable / sizeof(StatInfo)};
    case StatScope::kClass: return {kClassTable, sizeof kClassTable / sizeof(StatInfo)};
    case StatScope::kLock: return {kLockTable, sizeof kLockTable / sizeof(StatInfo)};
    case StatScope::kLength: return {kLengthTable, sizeof kLengthTable / sizeof(StatInfo)};
    case StatScope::kTag: return {kTagTable, sizeof kTagTable / sizeof(StatInfo)};
  }
  return {nullptr, 0};
}

const char* stat_scope_name(StatScope scope);
const char* stat_help(StatScope scope, unsigned row);

}  // namespace acre
