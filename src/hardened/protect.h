// The last steps of an allocation of a protected block (tail.h).
#pragma once

#include "cache/malloc.h"
#include "hardened/checks.h"

namespace acre::hardened {

// The allocation was made again after the program's new handler freed memory: the inner one has protected the block.
void check_protected_already(void* block, size_t bytes);

ACRE_ALWAYS_INLINE void* protect(void* block, size_t bytes, size_t n, Kind kind, Random* random) {
  if (ACRE_UNLIKELY(!is_block_zero(block, bytes, random))) check_protected_already(block, bytes);
  write_tail(block, bytes, n, kind);
  return block;
}

ACRE_ALWAYS_INLINE void* told(void* block, size_t n) {
  hooks::allocated(block, n, n);
  return block;
}

// kSmallClasses: a large block. The class of 8 bytes has no room for more than a tail.
ACRE_ALWAYS_INLINE SizeClass class_for(size_t n, size_t alignment) {
  if (n > kSmallMax - kTailBytes) return kSmallClasses;
  return class_for_aligned(larger<size_t>(n, 1) + kTailBytes, alignment);
}

}  // namespace acre::hardened
