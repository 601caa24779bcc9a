// acre_owns: what is the program's and what is not, whatever the program writes there.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "slab/free_list.h"
#include "slab/unit_table.h"

namespace acre {
namespace {

TEST(Owns, LiveBlocksAndNoOthers) {
  for (size_t size : {16u, 100u, 5000u, 100000u}) {
    void* block = acre_malloc(size);
    EXPECT_TRUE(acre_owns(block)) << size;
    EXPECT_FALSE(acre_owns(static_cast<char*>(block) + 1)) << size;
    acre_free(block);
    EXPECT_FALSE(acre_owns(block)) << size;
  }
  int local = 0;
  EXPECT_FALSE(acre_owns(&local));
}

// Such a block is looked for on all lists, of which others are taking and giving blocks at the time.
TEST(Owns, ABlockThatLooksFreeIsLookedForWhileOthersAllocate) {
  std::atomic<void*> given{nullptr};
  std::atomic<bool> done{false};
  std::thread other([&] {
    given = acre_malloc(100);  // in the run that the thread goes on with
    std::vector<void*> blocks;
    while (!done) {
      for (int i = 0; i < 200; ++i) blocks.push_back(memset(acre_malloc(100), 0x55, 100));
      for (void* block : blocks) acre_free(block);
      blocks.clear();
    }
  });
  while (given == nullptr) std::this_thread::yield();
  void* block = given;
  for (int i = 0; i < 500; ++i) {
    link_of(block)->set_next(nullptr);
    EXPECT_GE(acre_malloc_usable_size(block), 100u);
  }
  done = true;
  other.join();
  acre_free(block);
}

// What the program writes may look like the mark of a free block: a header whose address ends in 32 zero bits has the
// mark 0.
TEST(Owns, ABlockThatLooksFree) {
  void* block = acre_malloc(100);
  link_of(block)->set_next(nullptr);
  EXPECT_TRUE(acre_owns(block));
  acre_free(block);
}

}  // namespace
}  // namespace acre
