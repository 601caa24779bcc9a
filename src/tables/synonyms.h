// Environment variables of TCMalloc's that set options of acre's.
#pragma once

#include "tables/options.h"

namespace acre {

// How a variable's value becomes the option's.
enum class SynonymValue : uint8_t {
  kSame,          // it is the option's
  kReleaseRate,   // release_speed.h: a dirty_decay_ms
  kZeroIfTrue,    // true: 0. false leaves the option as it is
  kNeverIfTrue,   // true: -1. false leaves the option as it is
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
};

}  // namespace acre
