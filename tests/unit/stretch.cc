// pages/stretch: runs made of a dirty free run and its neighbours.
#include "page_heap_support.h"

namespace acre {
namespace {

// Leaves [clean 4 | dirty 10 | clean 20] free between two runs in use; -> where it begins.
class Around : public test::PageHeapTest {
 protected:
  void SetUp() override {
    allocate(1);
    PageRun* below = allocate(4);
    PageRun* seed = allocate(10);
    PageRun* above = allocate(20);
    allocate(1);
    start = below->base;
    touch(below);
    touch(above);
    heap.free(below, true);
    heap.free(above, true);
    heap.purge_to(0);
    touch(seed);
    heap.free(seed, true);
    ASSERT_EQ(heap.counts().dirty, 10u);
  }
  Address page(size_t index) const { return start + (index << kPageShift); }

  Address start = 0;
};

TEST_F(Around, ADirtyRunIsStretchedUpwards) {
  PageRun* run = heap.allocate_around_dirty(18);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->base, page(4));
  EXPECT_EQ(run->pages, 18u);
  EXPECT_FALSE(run->fresh);
  EXPECT_EQ(heap.counts().dirty, 0u);
  PageRun* rest = heap.allocate_free(12, 1, false);
  EXPECT_EQ(rest->base, page(22)) << "what was not needed is clean as before";
  EXPECT_TRUE(rest->fresh);
}

TEST_F(Around, AndDownwardsWhereThatIsNotEnough) {
  PageRun* run = heap.allocate_around_dirty(32);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->base, page(2));
  PageRun* rest = heap.allocate_free(2, 1, false);
  EXPECT_EQ(rest->base, page(0));
  EXPECT_TRUE(rest->fresh);
}

TEST_F(Around, AllOfItFits) {
  PageRun* run = heap.allocate_around_dirty(34);
  ASSERT_NE(run, nullptr);
  EXPECT_EQ(run->base, page(0));
  touch(run);
  heap.free(run, true);
  EXPECT_EQ(heap.counts().dirty, 34u) << "from now on it is dirty as a whole";
}

TEST_F(Around, NotWhereThereIsTooLittle) {
  EXPECT_EQ(heap.allocate_around_dirty(35), nullptr) << "runs in use are on both sides";
  EXPECT_EQ(heap.allocate_around_dirty(80), nullptr) << "and the dirty run is too small a part";
  EXPECT_EQ(heap.counts().dirty, 10u);
}

}  // namespace
}  // namespace acre
