// control/utilization: how full the run of a block is, and whether moving the block is worth it.
#include "control/utilization.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "acre/jemalloc.h"
#include "cache/heap.h"
#include "control/quantum8.h"
#include "ctl_calls.h"

namespace acre {
namespace {

using test::renew_figures;
using test::value_of;

// As jemalloc gives it.
struct Answer {
  void* current;
  size_t free, blocks, bytes, free_in_bin, blocks_in_bin;
};
struct Fill {
  size_t free, blocks, bytes;
};

int query(const void* block, Answer* answer) {
  size_t size = sizeof *answer;
  return ctl::by_name("experimental.utilization.query", answer, &size, &block, sizeof block);
}

// HeldBlocks of a class that nothing else here uses. What a test leaves behind does not change the others.
class HeldBlocks {
 public:
  explicit HeldBlocks(size_t size, size_t count) : size_(size) {
    while (all_.size() < count) {
      all_.push_back(static_cast<unsigned char*>(acre_malloc(size)));
      memset(all_.back(), static_cast<int>(all_.size()), size);
    }
  }
  ~HeldBlocks() {
    for (void* block : all_) acre_free(block);
  }
  std::vector<unsigned char*>& all() { return all_; }
  const std::vector<unsigned char*>& all() const { return all_; }
  size_t size() const { return size_; }

  void free_two_thirds_at_random() {
    std::shuffle(all_.begin(), all_.end(), std::mt19937(7));
    for (; all_.size() % 3 != 0; all_.pop_back()) acre_free(all_.back());
    for (const size_t left = all_.size() / 3; all_.size() > left; all_.pop_back()) acre_free(all_.back());
    for (unsigned char* block : all_) memset(block, block[0] + 1, size_);  // the rest is in use
  }

  // Moves blocks together, as Redis does. Returns how many moved.
  template <class Hint>
  size_t move(Hint hint) {
    size_t moved = 0;
    for (unsigned char*& block : all_) {
      if (!hint(block)) continue;
      auto* copy = static_cast<unsigned char*>(acre_mallocx(size_, MALLOCX_TCACHE_NONE));
      memcpy(copy, block, size_);
      acre_dallocx(block, MALLOCX_TCACHE_NONE);
      block = copy;
      ++moved;
    }
    return moved;
  }

  void expect_whole() const {
    for (const unsigned char* block : all_) {
      for (size_t i = 1; i < size_; ++i) ASSERT_EQ(block[i], block[0]);
    }
  }
  size_t runs() const {
    std::set<const Slab*> runs;
    for (const void* block : all_) runs.insert(ctl::slab_of(block));
    return runs.size();
  }

 private:
  size_t size_;
  std::vector<unsigned char*> all_;
};

using Utilization = test::CtlTest;

TEST_F(Utilization, AQueryTellsHowFullARunIs) {
  const SizeClass c = class_of_size(1100);
  const RunShape& shape = run_shape(c);
  HeldBlocks blocks(1100, 3 * shape.capacity);
  ASSERT_EQ(renew_figures(), 0);
  const std::string bin =
      "stats.arenas." + std::to_string(heap_if_any()->arena->index) + ".bins." + std::to_string(c);
  for (const void* block : blocks.all()) {
    Answer answer;
    ASSERT_EQ(query(block, &answer), 0);
    EXPECT_EQ(answer.blocks, shape.capacity);
    EXPECT_EQ(answer.bytes, shape.pages * kPageBytes);
    EXPECT_EQ(answer.free, use_of(ctl::slab_of(block)).free());
    EXPECT_EQ(answer.blocks_in_bin, value_of<size_t>(bin + ".curslabs") * shape.capacity);
    EXPECT_EQ(answer.free_in_bin, answer.blocks_in_bin - value_of<size_t>(bin + ".curregs"));
    EXPECT_NE(answer.current, nullptr);
  }
  // All blocks of a run that is not current, but for the last one.
  const Slab* run = ctl::slab_of(blocks.all().front());
  ASSERT_FALSE(ctl::is_current(run));
  std::vector<unsigned char*> rest;
  unsigned freed = 0;
  for (unsigned char* block : blocks.all()) {
    if (ctl::slab_of(block) == run && freed + 1 < shape.capacity) {
      acre_dallocx(block, MALLOCX_TCACHE_NONE);
      ++freed;
    } else {
      rest.push_back(block);
    }
  }
  blocks.all() = rest;
  for (const void* block : rest) {
    Answer answer;
    ASSERT_EQ(query(block, &answer), 0);
    if (ctl::slab_of(block) == run) {
      EXPECT_EQ(answer.free, freed);
    }
  }
}

TEST_F(Utilization, ALargeBlockIsARunOfOneBlock) {
  for (const size_t size : {size_t{40000}, size_t{3} << 20, size_t{80} << 20}) {
    void* block = acre_malloc(size);
    Answer answer;
    ASSERT_EQ(query(block, &answer), 0);
    EXPECT_EQ(answer.current, nullptr);
    EXPECT_EQ(answer.free, 0u);
    EXPECT_EQ(answer.blocks, 1u);
    EXPECT_EQ(answer.bytes, acre_malloc_usable_size(block));
    EXPECT_EQ(answer.free_in_bin, 0u);
    EXPECT_EQ(answer.blocks_in_bin, 0u);
    EXPECT_EQ(acre_get_defrag_hint(block), 0);
    acre_free(block);
  }
}

TEST_F(Utilization, WhatIsNoBlockHasZeroes) {
  int here = 0;
  unsigned char* block = static_cast<unsigned char*>(acre_malloc(5000));
  for (const void* p : {static_cast<const void*>(&here), static_cast<const void*>(nullptr),
                        static_cast<const void*>(block + 16)}) {
    Answer answer;
    ASSERT_EQ(query(p, &answer), 0);
    EXPECT_EQ(answer.free + answer.blocks + answer.bytes + answer.free_in_bin + answer.blocks_in_bin, 0u);
    EXPECT_EQ(acre_get_defrag_hint(const_cast<void*>(p)), 0);
  }
  acre_free(block);
}

TEST_F(Utilization, ABatchAnswersAsSingleQueriesDo) {
  HeldBlocks blocks(48, 5000);
  blocks.free_two_thirds_at_random();
  std::vector<const void*> in(blocks.all().begin(), blocks.all().end());
  in.push_back(nullptr);
  void* large = acre_malloc(100000);
  in.push_back(large);
  std::vector<Fill> out(in.size());
  size_t size = out.size() * sizeof(Fill), room = 4, mib[4];
  ASSERT_EQ(ctl::name_to_mib("experimental.utilization.batch_query", mib, &room), 0);
  ASSERT_EQ(ctl::by_mib(mib, room, out.data(), &size, in.data(), in.size() * sizeof in[0]), 0);
  for (size_t i = 0; i < in.size(); ++i) {
    Answer answer;
    ASSERT_EQ(query(in[i], &answer), 0);
    EXPECT_EQ(out[i].free, answer.free);
    EXPECT_EQ(out[i].blocks, answer.blocks);
    EXPECT_EQ(out[i].bytes, answer.bytes);
  }
  EXPECT_EQ(out[in.size() - 2].blocks, 0u);
  EXPECT_EQ(out.back().blocks, 1u);
  acre_free(large);
}

TEST_F(Utilization, BuffersOfAnotherSizeAreRefusedAndLeftAlone) {
  const void* blocks[2] = {};
  char out[64], before[64];
  memset(out, 0x5a, sizeof out);
  memcpy(before, out, sizeof out);
  const auto refused = [&](const char* name, void* oldp, size_t old_bytes, const void* newp, size_t new_bytes) {
    size_t size = old_bytes;
    const int error = ctl::by_name(name, oldp, &size, const_cast<void*>(newp), new_bytes);
    EXPECT_EQ(size, old_bytes);
    EXPECT_EQ(memcmp(out, before, sizeof out), 0);
    return error;
  };
  constexpr char kQuery[] = "experimental.utilization.query", kBatch[] = "experimental.utilization.batch_query";
  EXPECT_EQ(ctl::by_name(kQuery, out, nullptr, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kQuery, nullptr, 48, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kQuery, out, 48, nullptr, 8), EINVAL);
  EXPECT_EQ(refused(kQuery, out, 40, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kQuery, out, 56, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kQuery, out, 48, blocks, 4), EINVAL);
  EXPECT_EQ(refused(kQuery, out, 48, blocks, 16), EINVAL);
  EXPECT_EQ(ctl::by_name(kBatch, out, nullptr, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kBatch, nullptr, 24, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kBatch, out, 24, nullptr, 8), EINVAL);
  EXPECT_EQ(refused(kBatch, out, 0, blocks, 0), EINVAL);
  EXPECT_EQ(refused(kBatch, out, 24, blocks, 16), EINVAL);
  EXPECT_EQ(refused(kBatch, out, 48, blocks, 8), EINVAL);
  EXPECT_EQ(refused(kBatch, out, 24, blocks, 9), EINVAL);
}

// The hint is what the figures say.
TEST_F(Utilization, AHintIsForBlocksOfRunsThatAreEmptierThanMost) {
  HeldBlocks blocks(208, 20000);
  ASSERT_EQ(renew_figures(), 0);
  const SizeClass c = class_of_size(208);
  const unsigned capacity = run_shape(c).capacity;
  for (const void* block : blocks.all()) {
    if (use_of(ctl::slab_of(block)).free() == 0) {
      EXPECT_EQ(acre_get_defrag_hint(const_cast<void*>(block)), 0);
    }
  }
  blocks.free_two_thirds_at_random();
  ASSERT_EQ(renew_figures(), 0);
  const std::string bin = "stats.arenas.4096.bins." + std::to_string(c) + ".";
  const size_t nonfull = value_of<size_t>(bin + "nonfull_slabs");
  const size_t in_full = (value_of<size_t>(bin + "curslabs") - nonfull) * capacity;
  const size_t used = value_of<size_t>(bin + "curregs") + value_of<size_t>(bin + "private_list");
  const double average = static_cast<double>(used - in_full) / static_cast<double>(nonfull);
  ASSERT_GT(nonfull, 10u);
  EXPECT_NEAR(average, capacity / 3.0, capacity / 6.0);
  size_t yes = 0;
  for (unsigned char* block : blocks.all()) {
    const Slab* run = ctl::slab_of(block);
    const bool emptier = use_of(run).live <= average * 1.125;
    EXPECT_EQ(acre_get_defrag_hint(block), emptier && !ctl::is_current(run));
    yes += emptier;
  }
  EXPECT_GT(yes, blocks.all().size() / 2);
}

TEST_F(Utilization, MovingByHintsBringsBlocksTogether) {
  for (const size_t size : {16, 100, 300, 2000, 6000, 20000}) {
    SCOPED_TRACE(size);
    const unsigned capacity = run_shape(class_of_size(size)).capacity;
    HeldBlocks blocks(size, 60u * capacity);
    blocks.free_two_thirds_at_random();
    const size_t before = blocks.runs(), needed = (blocks.all().size() + capacity - 1) / capacity;
    ASSERT_GT(before, 2 * needed);
    for (int pass = 0; pass < 20; ++pass) {
      ASSERT_EQ(renew_figures(), 0);
      if (blocks.move([](void* block) { return acre_get_defrag_hint(block) != 0; }) == 0) break;
    }
    blocks.expect_whole();
    EXPECT_LE(blocks.runs(), needed + needed / 4 + 2);
  }
}

// What Valkey checks when it starts, and asks of each block.
TEST_F(Utilization, BinsOfAQuantumOf8AreThoseOfJemalloc) {
  EXPECT_EQ(value_of<size_t>("quantum8.quantum"), 8u);
  const unsigned bins = value_of<unsigned>("quantum8.nbins");
  std::vector<size_t> sizes;
  for (unsigned i = 0; i < bins; ++i) sizes.push_back(value_of<size_t>("quantum8.bin." + std::to_string(i) + ".size"));
  const std::vector<size_t> first = {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448};
  EXPECT_EQ(std::vector<size_t>(sizes.begin(), sizes.begin() + first.size()), first);
  EXPECT_EQ(sizes.back(), kSmallMax);
  EXPECT_EQ(ctl::by_name(("quantum8.bin." + std::to_string(bins) + ".size").c_str(), nullptr, nullptr, nullptr, 0), ENOENT);
  for (unsigned i = 0; i < bins; ++i) {
    const std::string bin = "quantum8.bin." + std::to_string(i);
    EXPECT_EQ(value_of<size_t>(bin + ".slab_size"), sizes[i] * value_of<uint32_t>(bin + ".nregs")) << i;
  }
}

TEST_F(Utilization, FiguresOfAQuantumOf8FitEachOther) {
  HeldBlocks a(150, 20000), b(170, 9000), c(3000, 500);
  a.free_two_thirds_at_random();
  c.free_two_thirds_at_random();
  ASSERT_EQ(renew_figures(), 0);
  size_t live = 0;
  for (unsigned i = 0; i < ctl::quantum8::kBins; ++i) {
    const std::string bin = "quantum8.arenas.4096.bins." + std::to_string(i) + ".";
    const size_t blocks = ctl::quantum8::bin_blocks(i), runs = value_of<size_t>(bin + "curslabs");
    const size_t nonfull = value_of<size_t>(bin + "nonfull_slabs"), regs = value_of<size_t>(bin + "curregs");
    EXPECT_LE(nonfull, runs);
    EXPECT_GE(regs, (runs - nonfull) * blocks);
    EXPECT_LE(regs, runs * blocks);
    live += regs * ctl::quantum8::bin_bytes(i);
  }
  EXPECT_NEAR(static_cast<double>(live), static_cast<double>(value_of<size_t>("stats.live_small")), 0.2 * static_cast<double>(live));
  std::vector<const void*> in;
  for (const HeldBlocks* blocks : {&a, &b, &c}) in.insert(in.end(), blocks->all().begin(), blocks->all().end());
  void* large = acre_malloc(50000);
  in.push_back(large);
  std::vector<Fill> out(in.size());
  size_t size = out.size() * sizeof(Fill);
  ASSERT_EQ(ctl::by_name("quantum8.utilization.batch_query", out.data(), &size, in.data(), in.size() * sizeof in[0]), 0);
  for (size_t i = 0; i + 1 < in.size(); ++i) {
    const Slab* run = ctl::slab_of(in[i]);
    const unsigned bin = ctl::quantum8::bin_of(run->block_bytes);
    EXPECT_EQ(out[i].bytes / out[i].blocks, ctl::quantum8::bin_bytes(bin));
    EXPECT_EQ(out[i].blocks, ctl::quantum8::bin_blocks(bin));
    EXPECT_EQ(out[i].free == 0, use_of(run).free() == 0 || ctl::is_current(run));
    EXPECT_LT(out[i].free, out[i].blocks);
  }
  EXPECT_EQ(out.back().blocks, 1u);
  EXPECT_GT(out.back().bytes, kSmallMax);
  acre_free(large);
}

}  // namespace
}  // namespace acre
