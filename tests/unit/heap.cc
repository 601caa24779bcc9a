// cache/heap: what a thread does not use of its heap is not written, and the next thread finds it as new.
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <vector>

#include "acre/tags.h"
#include "cache/malloc.h"
#include "cache/registry.h"
#include "heap_support.h"
#include "support.h"

namespace acre {
namespace {

using test::my_heap;

constexpr size_t kSize = 48;
const SizeClass kClass = class_of_size(kSize);

// A heap that no thread has, and that nobody else knows.
void begin(Heap& heap) {
  heap.begin();
  heap.token = address_of(&heap);
  heap.arena = my_heap().arena;
  heap.bound = true;
}

void use_and_end(Heap& heap) {
  std::vector<void*> blocks;
  for (int i = 0; i < 1000; ++i) blocks.push_back(take_block(heap, kClass));
  for (void* block : blocks) acre_free(block);
  for (SizeClass c = 0; c < kSmallClasses; ++c) collect_step(heap);
  while (heap.use(kClass).lists.available_count != 0) collect_step(heap);
  empty_heap(heap);
  heap.end();
}

TEST(Heap, WhatIsNotUsedIsNotWritten) {
  Heap* first = Heap::make();
  Heap* second = Heap::make();
  while (address_of(&second->cold()) != address_of(first) + sizeof(HotHeap)) {
    first = second;
    second = Heap::make();
  }
  // From the one's table of sizes to the other's larger classes.
  const Address from = align_up(address_of(&first->slot_at[kSize + 1]), kPageBytes);
  const Address to = align_down(address_of(&second->use(kClass)), kPageBytes);
  ASSERT_LT(from, to);
  ASSERT_EQ(mprotect(pointer_to(from), to - from, PROT_READ), 0);
  for (Heap* heap : {first, second}) {
    begin(*heap);
    use_and_end(*heap);
  }
  EXPECT_EQ(mprotect(pointer_to(from), to - from, PROT_READ | PROT_WRITE), 0);
}

TEST(Heap, IsAsNewAfterItsEnd) {
  Heap* heap = Heap::make();
  for (int round = 0; round < 2; ++round) {
    begin(*heap);
    EXPECT_EQ(registry::events_of(*heap, kClass).refills, 0u);
    use_and_end(*heap);
    EXPECT_TRUE(test::all_zero(&heap->cold(), sizeof(ColdHeap)));
  }
}

// Those of other threads that it has sent off are forgotten too.
TEST(Heap, ForgetsWhatItSent) {
  Heap* heap = Heap::make();
  begin(*heap);
  void* block = acre_malloc(kSize);
  heap->outbox().add(test::slab_of(block), block);
  empty_heap(*heap);
  EXPECT_EQ(heap->outbox().sent(kClass), 1u);
  EXPECT_EQ(heap->outbox().total_bytes(), kSize);
  heap->end();
  EXPECT_EQ(heap->outbox().sent(kClass), 0u);
  EXPECT_EQ(heap->outbox().total_bytes(), 0u);
}

// malloc finds a class by the table once it was used, and for all its sizes at once.
TEST(Heap, TheTableHasTheClassesThatAreUsed) {
  Heap* heap = Heap::make();
  begin(*heap);
  ASSERT_EQ(reinterpret_cast<char*>(&heap->none), reinterpret_cast<char*>(heap));  // malloc's offset
  for (size_t n : {size_t{8}, size_t{9}, kSize, size_t{1000}, kTableMax}) {
    EXPECT_EQ(heap->slot_at[n], 0) << n;
    acre_free(take_block(*heap, class_of_size(n)));
  }
  for (size_t n = 0; n <= kTableMax; ++n) {
    const SizeClass c = class_of_size(n);
    if (!heap->use(c).is_used()) {
      ASSERT_EQ(heap->slot_at[n], 0) << n;
    } else {
      ASSERT_EQ(reinterpret_cast<char*>(&heap->none) + heap->slot_at[n] * HotHeap::kStep,
                reinterpret_cast<char*>(&heap->slots[c])) << n;
    }
  }
  empty_heap(*heap);
  heap->end();
}

// So that after a tag the lists that a thread has serve malloc again at once.
TEST(Heap, ATagEmptiesTheTable) {
  void* block = acre_malloc(kSize);
  Heap& heap = my_heap();
  ASSERT_NE(heap.slot_at[kSize], 0);
  ASSERT_EQ(acre_tag_push("heap-table"), 0);
  EXPECT_TRUE(test::all_zero(heap.slot_at, sizeof heap.slot_at));
  acre_free(acre_malloc(kSize));
  EXPECT_TRUE(test::all_zero(heap.slot_at, sizeof heap.slot_at));
  ASSERT_EQ(acre_tag_pop(), 0);
  EXPECT_NE(heap.slot_at[kSize], 0);
  acre_free(block);
}

}  // namespace
}  // namespace acre
