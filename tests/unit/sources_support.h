// What tests of memory sources share.
#pragma once

#include <gtest/gtest.h>
#include <string.h>

#include <vector>

#include "heap/explicit.h"
#include "support.h"

namespace acre {

constexpr size_t kMiB = size_t{1} << 20;

inline void* allocate(ExplicitArena* arena, size_t n, bool zeroed = false) {
  return arenas::allocate_in(*arena, n, 1, zeroed);
}

// How many blocks the arena gives; all their pages are written.
inline std::vector<unsigned char*> fill_up(ExplicitArena* arena, size_t n, size_t most = SIZE_MAX) {
  std::vector<unsigned char*> blocks;
  while (blocks.size() < most) {
    auto* p = static_cast<unsigned char*>(allocate(arena, n));
    if (p == nullptr) break;
    memset(p, static_cast<int>(blocks.size() % 251 + 1), n);
    blocks.push_back(p);
  }
  return blocks;
}
inline void expect_contents(const std::vector<unsigned char*>& blocks, size_t n) {
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t at = 0; at < n; at += 512) ASSERT_EQ(blocks[i][at], i % 251 + 1) << "block " << i;
  }
}

}  // namespace acre
