// The checks of protected blocks (tail.h), and the messages about blocks that do not pass them.
#pragma once

#include "base/fatal.h"
#include "hardened/hardened.h"
#include "hardened/tail.h"
#include "slab/slab.h"
#include "tables/options.h"

namespace acre::hardened {

// --- Messages: checks.cc --------------------------------------------------------------------------------------------

[[noreturn]] void written_past_end(const char* caller, const void* p, size_t most);       // n <= most is not known
[[noreturn]] void written_past_end_by(const char* caller, const void* p, size_t n, size_t end);
[[noreturn]] void written_past_end_at(const char* caller, const void* p, size_t n, size_t at);
[[noreturn]] void written_before(const char* caller, const void* p);
[[noreturn]] void written_after_free(const void* p, size_t bytes);
[[noreturn]] void wrong_function(const char* caller, const void* p, Kind kind);

// --- Zeroes ---------------------------------------------------------------------------------------------------------

// Blocks are multiples of it, since the class of 8 bytes has no room for a tail.
using Chunk [[gnu::may_alias]] = uint64_t __attribute__((vector_size(16)));
inline constexpr size_t kChunk = sizeof(Chunk);

// from, to: multiples of kChunk.
ACRE_ALWAYS_INLINE bool are_zero(const void* block, size_t from, size_t to) {
  const char* const bytes = static_cast<const char*>(block);
  Chunk any = {};
  for (; from < to; from += kChunk) any |= *reinterpret_cast<const Chunk*>(bytes + from);
  return (any[0] | any[1]) == 0;
}

// Zeroes a short block without a call. Whoever frees the next block may read the tail meanwhile (is_tail_before_whole):
// it changes at once.
ACRE_ALWAYS_INLINE void wipe_short(void* block, size_t bytes) {
  relaxed_store(tail_word(block, bytes), uint64_t{0});
  char* at = static_cast<char*>(block);
  char* const last = at + bytes - kChunk;
  for (; at < last; at += kChunk) {
    *reinterpret_cast<Chunk*>(at) = Chunk{};
    asm("" : "+r"(at));  // compilers make a call, or a slow instruction, of a loop that they know
  }
  *reinterpret_cast<uint64_t*>(last) = 0;
}

// Whether the bytes from n to `end`, a multiple of 8, are zero.
ACRE_ALWAYS_INLINE bool is_slack_zero(const void* block, size_t n, size_t end) {
  using Word [[gnu::may_alias]] = uint64_t;
  const auto* const words = static_cast<const Word*>(block);
  constexpr size_t kWord = sizeof(uint64_t);
  if (n == end) return true;
  if (end - n <= kWord) return words[end / kWord - 1] >> (kWord - (end - n)) * 8 == 0;
  uint64_t any = n % kWord == 0 ? 0 : words[n / kWord] >> (n % kWord * 8);
  for (size_t at = (n + kWord - 1) / kWord; at < end / kWord; ++at) any |= words[at];
  return any == 0;
}

// Whether a block that malloc takes is zero. One of more than kCheckedWhole bytes is checked in part: both ends, and words
// that `random` chooses, which may be null.
inline constexpr size_t kCheckedWhole = 8192;
bool samples_are_zero(const void* block, size_t bytes, Random* random);
ACRE_ALWAYS_INLINE bool is_block_zero(const void* block, size_t bytes, Random* random) {
  return ACRE_LIKELY(bytes <= kCheckedWhole) ? are_zero(block, 0, bytes) : samples_are_zero(block, bytes, random);
}

// --- Tails ----------------------------------------------------------------------------------------------------------

inline size_t size_in(const Tail& tail, size_t bytes) { return bytes - kTailBytes - tail.slack; }

// The tail of a live block. Ends the program if bytes behind the block were written.
ACRE_ALWAYS_INLINE Tail checked_tail(const void* p, size_t bytes, const char* caller) {
  const Tail tail = read_tail(p, bytes);
  if (ACRE_UNLIKELY(!tail.is_whole)) written_past_end(caller, p, bytes - kTailBytes);
  const size_t end = bytes - kTailBytes, n = size_in(tail, bytes);
  if (ACRE_UNLIKELY(!is_slack_zero(p, n, end))) written_past_end_by(caller, p, n, end);
  return tail;
}

// The tail of the block before p, live or free. So a program that writes before a block's start is found, too.
ACRE_ALWAYS_INLINE bool is_tail_before_whole(const Slab* slab, void* p) {
  if (address_of(p) == slab->base) return true;
  void* before = static_cast<char*>(p) - slab->block_bytes;
  const uint64_t word = relaxed_load(tail_word(before, slab->block_bytes));
  return word == 0 || read_tail(before, word, slab->block_bytes).is_whole;
}
ACRE_ALWAYS_INLINE void check_before(const Slab* slab, void* p, const char* caller) {
  if (ACRE_UNLIKELY(!is_tail_before_whole(slab, p))) written_before(caller, p);
}

// Blocks of mallocx are freed by free, too.
inline bool may_free(Kind allocated, Kind freed) {
  return allocated == freed || allocated == Kind::kAny || (allocated == Kind::kRounded && freed == Kind::kMalloc);
}

ACRE_ALWAYS_INLINE void check_kind(const char* caller, const void* p, Kind allocated, Kind freed) {
  if (ACRE_LIKELY(may_free(allocated, freed)) || !relaxed_load(options().kind_checks)) return;
  wrong_function(caller, p, allocated);
}

// If p is a large block in use. Other pointers are left to those who look for mistakes of all kinds.
void check_may_free_large(const Found& found, const void* p, const char* caller, Kind freed);

}  // namespace acre::hardened
