// pages/unmap: free pages whose addresses go back to the system.
#include <sys/mman.h>

#include "page_heap_support.h"

namespace acre {
namespace {

constexpr size_t kLong = 100;  // pages; kShort is not worth a hole
constexpr size_t kShort = 20;

class UnmapTest : public test::PageHeapTest {
 protected:
  // A run that was written to, with one in use behind it.
  PageRun* used(size_t pages) {
    PageRun* run = allocate(pages);
    touch(run);
    allocate(1);
    return run;
  }
  // Its pages hold nothing any more; where it began.
  Address clean(PageRun* run) {
    const Address start = run->base;
    heap.free(run, true);
    heap.purge_to(0);
    return start;
  }
  static bool is_mapped(Address page) {
    unsigned char there;
    return mincore(pointer_to(page), kPageBytes, &there) == 0;
  }
};

TEST_F(UnmapTest, CleanRunsAreUnmappedAndNoLongerTheArenas) {
  const Address address = clean(used(kLong));
  const PageCounts before = heap.counts();
  // What was never used yet is the longest run, and goes as well.
  const size_t unmapped = heap.unmap_clean(before.clean);
  EXPECT_EQ(unmapped, before.clean);
  EXPECT_EQ(heap.counts().obtained, before.obtained - unmapped);
  EXPECT_EQ(heap.counts().clean, 0u);
  EXPECT_EQ(g_page_map.find(pointer_to(address)), nullptr);
  EXPECT_FALSE(is_mapped(address));
  PageRun* run = allocate(kLong);
  EXPECT_TRUE(is_zero(run)) << "from a new chunk";
}

TEST_F(UnmapTest, TheLongestGoFirstAndNoMoreThanAskedFor) {
  PageRun* runs[] = {used(kLong), used(2 * kLong)};
  const Address shorter = clean(runs[0]);
  const Address longer = clean(runs[1]);
  ASSERT_NE(heap.allocate_free(heap.counts().clean - 3 * kLong, 1, false), nullptr) << "what was never used yet";
  EXPECT_EQ(heap.unmap_clean(kLong), 2 * kLong);
  EXPECT_FALSE(is_mapped(longer));
  EXPECT_TRUE(is_mapped(shorter));
}

TEST_F(UnmapTest, NeitherShortRunsNorDirtyOnes) {
  PageRun* runs[] = {used(kShort), used(kLong)};
  const Address too_short = clean(runs[0]);
  const Address dirty = runs[1]->base;
  heap.free(runs[1], true);
  heap.unmap_clean(SIZE_MAX);
  EXPECT_TRUE(is_mapped(too_short));
  EXPECT_TRUE(is_mapped(dirty));
  EXPECT_EQ(heap.counts().dirty, kLong);
}

TEST_F(UnmapTest, NotWhereChunksAreKept) {
  PageHeap& kept = test::new_page_heap();
  EXPECT_TRUE(kept.may_unmap());
  kept.keep_chunks(nullptr);
  EXPECT_FALSE(kept.may_unmap()) << "its list of chunks says that they are whole";
}

}  // namespace
}  // namespace acre
