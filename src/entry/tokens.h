// Allocation tokens: what clang's -fsanitize=alloc-token makes the program call in place of malloc and its relatives.
// The last argument is a token that stands for the type of the block; with -fsanitize-alloc-token-fast-abi it is part of
// the name.
//
// In clang's default mode (typehashpointersplit) the tokens are below a number N, -falloc-token-max or else SIZE_MAX.
// Those from N / 2 on are types that contain pointers. A call whose type the compiler does not know has token 0.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "cache/upcalls.h"
#include "tables/options.h"

namespace acre::tokens {

// Whether the block is for pointers, and such blocks are kept apart. A program's first call may be this one.
ACRE_COLD inline bool are_apart() {
  start_process();
  return hardened::is_on();
}
ACRE_ALWAYS_INLINE bool is_apart(size_t token) {
  if (!are_apart()) return false;
  const auto most = static_cast<size_t>(options().alloc_token_max);
  if (most == 1) return false;  // one token is that of all types
  return token >= (most == 0 ? SIZE_MAX : most) / 2;
}

// Defines a function with a token, and those with a token in the name: with N = 2 there are 0 and 1.
// call(is_apart, ...) does the work.
#define ACRE_ALL(...) __VA_ARGS__
#define ACRE_TOKENS(type, name, call, parameters, arguments)                                             \
  ACRE_EXPORT ACRE_APART type __alloc_token_##name(ACRE_ALL parameters, size_t token) {                  \
    return call(acre::tokens::is_apart(token), ACRE_ALL arguments);                                      \
  }                                                                                                      \
  ACRE_EXPORT ACRE_APART type __alloc_token_0_##name(ACRE_ALL parameters) {                              \
    return call(false, ACRE_ALL arguments);                                                              \
  }                                                                                                      \
  ACRE_EXPORT ACRE_APART type __alloc_token_1_##name(ACRE_ALL parameters) {                              \
    return call(acre::tokens::are_apart(), ACRE_ALL arguments);                                          \
  }

}  // namespace acre::tokens
