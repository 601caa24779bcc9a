// TCMalloc's environment variables that set options of acre.
#pragma once

#include "tables/options.h"

namespace acre {

// How the variable's value becomes the option's value.
enum class SynonymValue : uint8_t {
  kSame,          // as it is
  kTruth,         // true or false, in TCMalloc's spelling
  kMegabytes,     // a number of MiB becomes bytes
  kReleaseRate,   // becomes a dirty_decay_ms (release_speed.h)
  kZeroIfTrue,    // true becomes 0; false leaves the option alone
  kNeverIfTrue,   // true becomes -1; false leaves the option alone
  kUnlessZero,    // a number; 0 leaves the option alone
  kTrueUnlessZero,  // another number than 0 becomes true; 0 leaves the option alone
};

// No pointers, since each process would have to relocate them.
struct Synonym {
  char variable[40];
  Option option;
  SynonymValue how;
};

inline constexpr char kSynonymPrefix[] = "TCMALLOC_";

// If two set the same option, the later one in this order counts.
inline constexpr Synonym kSynonyms[] = {
    {"TCMALLOC_RELEASE_RATE", Option::dirty_decay_ms, SynonymValue::kReleaseRate},
    {"TCMALLOC_AGGRESSIVE_DECOMMIT", Option::dirty_decay_ms, SynonymValue::kZeroIfTrue},
    {"TCMALLOC_DISABLE_MEMORY_RELEASE", Option::dirty_decay_ms, SynonymValue::kNeverIfTrue},
    {"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES", Option::thread_cache_max, SynonymValue::kSame},
    {"TCMALLOC_MIN_PER_THREAD_CACHE_BYTES", Option::thread_cache_min, SynonymValue::kSame},
    {"TCMALLOC_SAMPLE_PARAMETER", Option::prof_sample, SynonymValue::kUnlessZero},
    {"TCMALLOC_SAMPLE_PARAMETER", Option::prof, SynonymValue::kTrueUnlessZero},
    {"TCMALLOC_LARGE_ALLOC_REPORT_THRESHOLD", Option::large_alloc_report, SynonymValue::kSame},
    {"TCMALLOC_HEAP_LIMIT_MB", Option::hard_limit, SynonymValue::kMegabytes},
    {"TCMALLOC_SKIP_MMAP", Option::mmap, SynonymValue::kZeroIfTrue},
    {"TCMALLOC_SKIP_SBRK", Option::sbrk, SynonymValue::kZeroIfTrue},
    {"TCMALLOC_DEVMEM_START", Option::device_start, SynonymValue::kMegabytes},
    {"TCMALLOC_DEVMEM_LIMIT", Option::device_limit, SynonymValue::kMegabytes},
    {"TCMALLOC_DEVMEM_DEVICE", Option::device, SynonymValue::kSame},
    {"TCMALLOC_MEMFS_MALLOC_PATH", Option::file, SynonymValue::kSame},
    {"TCMALLOC_MEMFS_LIMIT_MB", Option::file_limit, SynonymValue::kMegabytes},
    {"TCMALLOC_MEMFS_ABORT_ON_FAIL", Option::file_abort, SynonymValue::kTruth},
    {"TCMALLOC_MEMFS_IGNORE_MMAP_FAIL", Option::file_retry, SynonymValue::kTruth},
    {"TCMALLOC_MEMFS_MAP_PRIVATE", Option::file_private, SynonymValue::kTruth},
};

}  // namespace acre
