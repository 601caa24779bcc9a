// What a protected block looks like.
//
//   | n bytes that the program asked for | slack: zeroes | 8 bytes: the tail |
//
// The tail holds how long the slack is and which function allocated the block, hidden by a hash of the block's address
// and the process's secrets: it is the canary, too. Its first byte is zero, so that no string function reads on. Of its
// 56 other bits 38 have to be right, so that a tail that was overwritten passes once in 2^38 times.
//
// A free block is all zero, but for its link and its mark (slab/free_list.h). So is a block that malloc takes, and the
// slack of a live one: other bytes there were written by a program past a block's end, or after free.
#pragma once

#include <stdint.h>

#include "base/compiler.h"
#include "base/units.h"
#include "cache/upcalls.h"

namespace acre::hardened {

inline constexpr size_t kTailBytes = sizeof(uint64_t);

struct TailSecrets {
  uint64_t add = 0, multiply = 1;
};
extern TailSecrets g_tail_secrets ACRE_HIDDEN;

struct Tail {
  size_t slack = 0;
  Kind kind = Kind::kMalloc;
  bool is_whole = false;  // false: it was overwritten
};

// A multiplication to 128 bits and a fold, as in wyhash (Wang Yi, 2019).
ACRE_ALWAYS_INLINE uint64_t hash_of(const void* block) {
  const auto product = static_cast<unsigned __int128>(address_of(block) ^ g_tail_secrets.add) * g_tail_secrets.multiply;
  return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
}

// bytes: of the block.
ACRE_ALWAYS_INLINE uint64_t& tail_word(void* block, size_t bytes) {
  return *reinterpret_cast<uint64_t*>(static_cast<char*>(block) + bytes - kTailBytes);
}
ACRE_ALWAYS_INLINE const uint64_t& tail_word(const void* block, size_t bytes) {
  return tail_word(const_cast<void*>(block), bytes);
}

inline constexpr unsigned kKindBits = 3, kSlackBits = 15;

ACRE_ALWAYS_INLINE void write_tail(void* block, size_t bytes, size_t n, Kind kind) {
  const uint64_t held = (bytes - kTailBytes - n) << kKindBits | static_cast<uint64_t>(kind);
  relaxed_store(tail_word(block, bytes), (hash_of(block) ^ held) << 8);  // check_before() of the next block reads it
}

// word: the block's tail.
ACRE_ALWAYS_INLINE Tail read_tail(const void* block, uint64_t word, size_t bytes) {
  constexpr uint64_t kHeld = ((uint64_t{1} << (kKindBits + kSlackBits)) - 1) << 8;
  const uint64_t held = (hash_of(block) << 8) ^ word;  // the lowest byte is the word's, which has to be zero
  const size_t slack = held >> (kKindBits + 8);
  const bool is_whole = (held & ~kHeld) == 0 && slack <= bytes - kTailBytes;
  return {slack, static_cast<Kind>(held >> 8 & ((1u << kKindBits) - 1)), is_whole};
}

ACRE_ALWAYS_INLINE Tail read_tail(const void* block, size_t bytes) {
  return read_tail(block, tail_word(block, bytes), bytes);
}

}  // namespace acre::hardened
