// Environment variables of TCMalloc's that set options of acre's.
#pragma once

#include "tables/options.h"

namespace acre {

// How a variable's value becomes the option's.
enum class SynonymValue : uint8_t {
  kSame,          // it is the option's
  kTruth,         // true or false, as TCMalloc reads them
  kMegabytes,     // a number of MiB, for one of bytes
  kReleaseRate,   // release_speed.h: a dirty_decay_ms
  kZeroIfTrue,    // true: 0. false leaves the option as it is
  kNeverIfTrue,   // true: -1. false leaves the option as it is
  kUnlessZero,    // a number. 0 leaves the option as it is
  kTrueUnlessZero,  // a number: true. 0 leaves the option as it is
};

// Without pointers, which would have to be relocated in every process.
struct Synonym {
  char variable[40];
  Option option;
  SynonymValue how;
};

inline constexpr char kSynonymPrefix[] = "TCMALLOC_";

// In this order: of two that set the same option, the later one counts.
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
