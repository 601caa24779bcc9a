// A page heap of its own for each test.
#pragma once

#include <gtest/gtest.h>

#include "os/os.h"
#include "pages/page_heap.h"
#include "support.h"

namespace acre::test {

class PageHeapTest : public testing::Test {
 protected:
  PageRun* allocate(size_t pages, size_t align_pages = 1) {
    PageRun* run = heap.allocate(pages, align_pages);
    EXPECT_NE(run, nullptr);
    EXPECT_EQ(run->pages, pages);
    EXPECT_EQ(run->kind, RunKind::kLarge);
    EXPECT_EQ(run->home, &heap);
    EXPECT_EQ(g_page_map.find(pointer_to(run->base)), run);
    EXPECT_EQ(g_page_map.find(pointer_to(run->end() - 1)), run);
    return run;
  }
  static void touch(PageRun* run, int value = 0x77) { memset(pointer_to(run->base), value, run->bytes()); }
  static bool is_zero(const PageRun* run) { return all_zero(pointer_to(run->base), run->bytes()); }
  void TearDown() override {
    os::testing::refuse_nothing();
    EXPECT_TRUE(pages_add_up(heap.counts()));
  }

  PageHeap& heap = new_page_heap();
};

}  // namespace acre::test
