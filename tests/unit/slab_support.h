// Slab runs for the tests: an arena of their own, and holders that are mere numbers.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "slab/transitions.h"
#include "support.h"

namespace acre::test {

// Owners that are no threads.
inline constexpr Owner kOwner{0x10, 0x10};
inline constexpr Owner kOther{0x20, 0x20};

inline Slab* make_slab(Arena& arena, SizeClass c, Owner owner = kOwner) {
  PageRun* run = arena.pages.allocate(run_shape(c).pages, kRunUnitPages);
  return run == nullptr ? nullptr : slab::make(run, c, owner);
}

// Takes a private list apart, as malloc does.
inline std::vector<void*> blocks_of(const Slab* slab, Link* head) {
  EXPECT_LE(walk_list(slab, head).count, slab->capacity);
  std::vector<void*> blocks;
  while (head != nullptr) {
    Link* block = head;
    head = block->next();
    clear_link(block);
    blocks.push_back(block);
  }
  return blocks;
}

// The remote list, whose length is told.
inline std::vector<void*> collect(Slab* slab) {
  uint64_t told = 100;
  std::vector<void*> blocks = blocks_of(slab, slab::collect_remote(slab, &told));
  EXPECT_EQ(told, 100 + blocks.size());
  return blocks;
}

inline std::vector<void*> carve(Slab* slab, uint32_t count) {
  return blocks_of(slab, slab::carve(slab, count, nullptr));
}
inline std::vector<void*> carve_all(Slab* slab) { return carve(slab, slab->capacity - slab->carved); }

// A list of blocks for give_back, as an outbox makes it.
struct Group {
  Link* head = nullptr;
  Link* last = nullptr;
  uint32_t count = 0;

  explicit Group(const std::vector<void*>& blocks) {
    for (void* block : blocks) {
      if (last == nullptr) last = link_of(block);
      write_link(block, head);
      head = link_of(block);
      ++count;
    }
  }
};

inline void give_back(Slab* slab, const std::vector<void*>& blocks) {
  if (blocks.empty()) return;
  Group group(blocks);
  slab::give_back(slab, group.head, group.last, group.count);
}

inline uint32_t list_length(const Slab* slab, Link* head) { return walk_list(slab, head).count; }

// The accounting identity of slab/slab.h, for a run that its owner holds. with_program: blocks that the test
// has, private lists included; the remote list comes on top.
inline void expect_adds_up(const Slab* slab, size_t with_program) {
  const RemoteWord word = load_remote(slab);
  EXPECT_EQ(word.state, RunState::kOwned);
  EXPECT_EQ(word.local, 0u);
  EXPECT_EQ(word.free, list_length(slab, head_block(slab, word)));
  EXPECT_EQ(slab::used(slab), with_program + word.free);
  EXPECT_EQ(slab::deferred_count(slab), list_length(slab, slab->deferred));
  EXPECT_EQ(slab->capacity, slab::used(slab) + slab::deferred_count(slab) + (slab->capacity - slab->carved));
}

inline std::vector<void*> take_from(std::vector<void*>& blocks, size_t count) {
  std::vector<void*> taken(blocks.end() - static_cast<long>(count), blocks.end());
  blocks.resize(blocks.size() - count);
  return taken;
}

}  // namespace acre::test
