// acre_owns: what is the program's and what is not, whatever the program writes there.
#include <gtest/gtest.h>

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
  int local;
  EXPECT_FALSE(acre_owns(&local));
}

// What the program writes may look like the mark of a free block: a header whose address ends in 32 zero bits has the
// mark 0.
TEST(Owns, ABlockThatLooksFree) {
  void* block = acre_malloc(100);
  link_of(block)->mark = mark_of(unit_table::at(block));
  EXPECT_TRUE(acre_owns(block));
  acre_free(block);
}

}  // namespace
}  // namespace acre
