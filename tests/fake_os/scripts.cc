#include "scripts.h"

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <thread>
#include <vector>

#include "../unit/support.h"
#include "acre/acre.h"
#include "acre/heap.h"
#include "acre/jemalloc.h"
#include "acre/tags.h"

namespace acre::fake_os {

namespace {

constexpr size_t kKiB = size_t{1} << 10;

void first_block(Blocks& blocks) {
  blocks.allocate(1);
  blocks.allocate_zeroed(100);
  blocks.allocate(5000);
}

void growth_by_small_blocks(Blocks& blocks) {
  test::Random random(1);
  while (blocks.bytes() + blocks.refused() * kKiB < 70 * kMiB) {
    blocks.allocate(random.one_in(200) ? random.between(1, 900) : random.between(12 * kKiB, 32 * kKiB));
  }
}

void every_class(Blocks& blocks) {
  for (size_t size = 1; size <= 32 * kKiB; size += size / 9 + 1) {
    for (int i = 0; i < 10; ++i) blocks.allocate(size);
  }
}

void large_blocks(Blocks& blocks) {
  for (size_t size = 33 * kKiB; size < 40 * kMiB; size += size / 3) blocks.allocate(size);
  for (size_t i = 0; i < blocks.count(); ++i) blocks.free(i);
  for (size_t size = 40 * kKiB; size < 60 * kMiB; size += size / 2) blocks.allocate_zeroed(size);
}

void huge_blocks(Blocks& blocks) {
  for (size_t size : {65 * kMiB, 100 * kMiB, 300 * kMiB}) blocks.allocate(size);
  if (blocks.count() > 1) blocks.free(1);
  blocks.allocate_zeroed(80 * kMiB);
}

void aligned_blocks(Blocks& blocks) {
  for (size_t alignment = 8; alignment <= kKiB * kMiB; alignment *= alignment < kMiB ? 2 : 8) {
    blocks.allocate_aligned(alignment, 1);
    blocks.allocate_aligned(alignment, alignment / 2 + 100);
  }
}

// One block from small to huge and back, with others in its way.
void one_block_grows(Blocks& blocks) {
  if (blocks.allocate(20) == nullptr) return;
  for (size_t size = 30; size < 150 * kMiB; size += size / 2) {
    blocks.resize(0, size);
    if (blocks.count() < 20) blocks.allocate(size < 200 * kKiB ? size : 100);
  }
  for (size_t size = 100 * kMiB; size > 10; size /= 4) blocks.resize(0, size);
}

void several_blocks_grow(Blocks& blocks) {
  for (int i = 0; i < 6; ++i) blocks.allocate(50 * kKiB);
  for (size_t size = 70 * kKiB; size < 12 * kMiB; size += size / 2) {
    for (size_t i = 0; i < blocks.count(); ++i) blocks.resize(i, size + i * 5000);
  }
  for (size_t i = 0; i < blocks.count(); ++i) blocks.resize(i, 40 * kKiB);
}

// Zeroed memory after memory that was not: what was written must not show.
void zeroed_blocks(Blocks& blocks) {
  for (int round = 0; round < 2; ++round) {
    for (size_t size = 1; size < 90 * kMiB; size = size * 3 + 1) {
      blocks.allocate(size);
      blocks.allocate_zeroed(size);
    }
    if (round == 0) blocks.free_all();
  }
}

// Each free run and each run needs a header.
void many_runs(Blocks& blocks) {
  for (size_t i = 0; i < 600; ++i) blocks.allocate((33 + i % 50) * kKiB);
  for (size_t i = 0; i < blocks.count(); ++i) blocks.free(i);
  for (size_t i = 0; i < 300; ++i) blocks.allocate((34 + i % 90) * kKiB);
}

void threads_one_by_one(Blocks& blocks) {
  for (int i = 0; i < 4; ++i) {
    Blocks theirs;
    std::thread([&] {
      for (size_t size = 16; size < 200 * kKiB; size *= 2) theirs.allocate(size);
      if (theirs.count() > 3) theirs.free(2);
    }).join();
    blocks.take(theirs);
    if (blocks.count() > 5) blocks.free(5);
  }
}

// As many threads at once as there may be arenas, and each frees what another has allocated.
void threads_at_once(Blocks& blocks) {
  constexpr size_t kThreads = 12;
  std::vector<Blocks> theirs(kThreads);
  std::atomic<size_t> ready{0};
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&, i] {
      for (size_t size = 24; size < 300 * kKiB; size *= 3) theirs[i].allocate(size);
      ++ready;
      while (ready < kThreads) std::this_thread::yield();
      Blocks& next = theirs[(i + 1) % kThreads];
      next.check_all();
      ++ready;
      while (ready < 2 * kThreads) std::this_thread::yield();
      if (next.count() > 2) next.free(1);
      if (next.count() > 2) next.free(0);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (Blocks& each : theirs) blocks.take(each);
}

// A heap of its own: what it gives keeps its contents, what it refuses is out of memory, and it can be reset.
void use_heap(acre_heap_t* heap) {
  struct Block {
    unsigned char* start;
    size_t size;
  };
  std::vector<Block> blocks;
  FAKE_OS_CHECK(acre_heap_malloc(heap, 70 * kKiB * kKiB) != nullptr || errno == ENOMEM);
  for (size_t size = 16; size < 600 * kKiB; size = size * 3 + 8) {
    auto* start = static_cast<unsigned char*>(acre_heap_malloc(heap, size));
    FAKE_OS_CHECK(start != nullptr || errno == ENOMEM);
    if (start == nullptr) continue;
    memset(start, static_cast<int>(blocks.size() + 1), size);
    blocks.push_back({start, size});
  }
  for (size_t i = 0; i < blocks.size(); i += 3) {
    auto* start = static_cast<unsigned char*>(acre_realloc(blocks[i].start, blocks[i].size + 70 * kKiB));
    if (start == nullptr) continue;
    FAKE_OS_CHECK(acre_heap_of(start) == heap);
    blocks[i].start = start;
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    for (size_t at = 0; at < blocks[i].size; at += 99) FAKE_OS_CHECK(blocks[i].start[at] == i + 1);
    if (i % 2 == 0) acre_free(blocks[i].start);
  }
}

void use_heaps(const acre_heap_settings& settings) {
  for (int i = 0; i < 2; ++i) {
    acre_heap_t* heap = acre_heap_create(&settings);
    if (heap == nullptr) continue;
    use_heap(heap);
    acre_heap_reset(heap);
    use_heap(heap);
    acre_heap_destroy(heap);
  }
}

void heaps(Blocks& blocks) {
  blocks.allocate(100);
  use_heaps({});
}

void heaps_in_files(Blocks& blocks) {
  blocks.allocate(100);
  for (int failure : {ACRE_HEAP_REFUSE, ACRE_HEAP_FALL_BACK}) {
    acre_heap_settings settings = {};
    settings.file = "/tmp";
    settings.failure = failure;
    use_heaps(settings);
  }
}

// Arenas are made, heaps bound to them, and one thread is bound to one after the other.
void blocks_of_arenas(Blocks& blocks) {
  for (unsigned arena = 0; arena < smaller(arenas::most(), 4u); ++arena) {
    for (size_t size = 10; size < 100 * kMiB; size *= 6) {
      blocks.allocate_with(size, MALLOCX_ARENA(arena) | MALLOCX_ZERO | MALLOCX_LG_ALIGN(arena));
    }
  }
  for (size_t i = 0; i < blocks.count(); ++i) {
    blocks.resize_with(i, 50 * kKiB, MALLOCX_ZERO | MALLOCX_ARENA(i % smaller(arenas::most(), 4u)));
    blocks.resize_with(i, 3000, MALLOCX_ALIGN(4096));
  }
  for (unsigned arena = 0; arena < smaller(arenas::most(), 4u); ++arena) {
    const int error = acre_mallctl("thread.arena", nullptr, nullptr, &arena, sizeof arena);
    FAKE_OS_CHECK(error == 0 || error == EAGAIN);
    blocks.allocate(700);
    blocks.allocate(70 * kKiB);
  }
}

// A thread turns its cache off and on, and asks what it has allocated.
void thread_without_cache(Blocks& blocks) {
  for (bool on : {false, true, false, true}) {
    const int error = acre_mallctl("thread.tcache.enabled", nullptr, nullptr, &on, sizeof on);
    FAKE_OS_CHECK(error == 0 || error == EFAULT);
    for (size_t size = 20; size < 200 * kKiB; size *= 5) blocks.allocate(size);
    if (blocks.count() > 2) blocks.free(1);
    uint64_t allocated = 0;
    size_t size = sizeof allocated;
    FAKE_OS_CHECK(acre_mallctl("thread.allocated", &allocated, &size, nullptr, 0) == 0);
  }
}

// Bytes that live in tags, of all tags.
uint64_t live_in_tags() {
  uint64_t live = 0;
  acre_tag_info info;
  for (acre_tag_t* tag = acre_tag_next(nullptr); tag != nullptr; tag = acre_tag_next(tag)) {
    if (acre_tag_get(tag, &info) == 0) live += info.live;
  }
  return live;
}

// Blocks of some sizes: each counts for the tag if it is in force, and what is refused for no tag.
void allocate_for(acre_tag_t* tag, Blocks& blocks) {
  acre_tag_info before, after;
  uint64_t bytes = 0;
  FAKE_OS_CHECK(tag == nullptr || acre_tag_get(tag, &before) == 0);
  for (size_t size = 10; size < 20 * kMiB; size = size * 11 + 3) {
    for (void* block : {blocks.allocate(size), blocks.allocate_zeroed(size)}) {
      if (block == nullptr) continue;
      FAKE_OS_CHECK(acre_tag_of(block) == tag);
      bytes += acre_malloc_usable_size(block);
    }
  }
  for (void* block : {blocks.allocate_aligned(4096, 300), blocks.allocate(65 * kMiB)}) {
    if (block != nullptr) bytes += acre_malloc_usable_size(block);
  }
  FAKE_OS_CHECK(tag == nullptr || acre_tag_get(tag, &after) == 0);
  FAKE_OS_CHECK(tag == nullptr || after.live == before.live + bytes);
}

// Tags by name, nested, and with a limit. A push that is refused has its pop, and leaves in force what was.
void tags(Blocks& blocks) {
  const uint64_t before = live_in_tags();
  const size_t first = blocks.count();
  for (const char* name : {"one", "two"}) {
    const int error = acre_tag_push(name);
    FAKE_OS_CHECK(error == 0 || error == ENOMEM || error == ENOTSUP);
    acre_tag_t* tag = acre_tag_in_force();
    FAKE_OS_CHECK((error == 0) == (tag != nullptr));
    allocate_for(tag, blocks);
    acre_tag_t* inner = acre_tag("inner");
    if (inner != nullptr) {
      acre_tag_limit(inner, 200 * kKiB);
      const int inner_error = acre_tag_enter(inner);
      FAKE_OS_CHECK(inner_error == 0 || inner_error == ENOMEM || inner_error == ENOTSUP);
      FAKE_OS_CHECK(acre_tag_in_force() == (inner_error == 0 ? inner : tag));
      if (inner_error == 0) {
        FAKE_OS_CHECK(acre_malloc(300 * kKiB) == nullptr);
        blocks.allocate(500);
      }
      FAKE_OS_CHECK(acre_tag_pop() == (inner_error == 0 || tag != nullptr ? 0 : EINVAL));
    }
    for (size_t i = first; i < blocks.count(); i += 5) {
      blocks.resize(i, smaller(blocks.size_of(i) * 3, blocks.size_of(i) + 4 * kMiB));
    }
    FAKE_OS_CHECK(acre_tag_in_force() == tag);
    const int popped = acre_tag_pop();
    FAKE_OS_CHECK(popped == 0 || (error != 0 && popped == EINVAL));
    FAKE_OS_CHECK(acre_tag_in_force() == nullptr);
  }
  while (blocks.count() > first) blocks.free(first);
  FAKE_OS_CHECK(live_in_tags() == before);
}

// One tag after the other, with a block each, until another part of the table is needed, and labels for more runs.
void many_tags(Blocks& blocks) {
  char name[16];
  for (int i = 0; i < 150; ++i) {
    snprintf(name, sizeof name, "tag %d", i);
    acre_tag_t* tag = acre_tag(name);
    if (tag == nullptr) continue;
    if (acre_tag_enter(tag) == 0) {
      for (size_t size = 30; size < 5000; size *= 4) {
        void* block = blocks.allocate(size + static_cast<size_t>(i) * 40);
        FAKE_OS_CHECK(block == nullptr || acre_tag_of(block) == tag);
      }
    }
    acre_tag_pop();
    if (i % 3 == 0) acre_tag_drop(tag);
  }
}

}  // namespace

const Script kScripts[] = {
    {"first_block", first_block, false},
    {"growth_by_small_blocks", growth_by_small_blocks, false},
    {"every_class", every_class, false},
    {"large_blocks", large_blocks, false},
    {"huge_blocks", huge_blocks, false},
    {"aligned_blocks", aligned_blocks, false},
    {"one_block_grows", one_block_grows, false},
    {"several_blocks_grow", several_blocks_grow, false},
    {"zeroed_blocks", zeroed_blocks, false},
    {"many_runs", many_runs, false},
    {"blocks_of_arenas", blocks_of_arenas, false},
    {"thread_without_cache", thread_without_cache, false},
    {"threads_one_by_one", threads_one_by_one, true},
    {"threads_at_once", threads_at_once, true},
    {"heaps", heaps, false},
    {"heaps_in_files", heaps_in_files, false},
    {"tags", tags, false},
    {"many_tags", many_tags, false},
};
const size_t kScriptCount = std::size(kScripts);

}  // namespace acre::fake_os
