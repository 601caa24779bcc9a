#include "pages/window.h"

#include <atomic>

#include "base/mutex.h"
#include "os/os.h"
#include "pages/page_map.h"
#include "tables/options.h"

namespace acre::window {

namespace {

constinit Mutex g_lock{Rank::kWindow};
constinit Address g_start = 0;
constinit size_t g_bytes = 0;
constinit std::atomic<size_t> g_used{0};  // bytes handed out from the start on; changes under the lock
constinit std::atomic<size_t> g_mapped{0};

// Returns the next part of the window, or 0.
Address take_addresses(size_t bytes) {
  Lock lock(g_lock);
  size_t used = g_used.load(std::memory_order_relaxed);
  if (crosses_reach(g_start + used, bytes)) used = align_up(g_start + used, kRunReach) - g_start;
  if (used + bytes > g_bytes) return 0;
  g_used.store(used + bytes, std::memory_order_relaxed);
  return g_start + used;
}

void give_back_addresses(Address start, size_t bytes) {
  Lock lock(g_lock);
  size_t used = g_used.load(std::memory_order_relaxed);
  if (g_start + used == start + bytes) g_used.store(used - bytes, std::memory_order_relaxed);
}

Chunk from_window(size_t bytes) {
  // A mapping of the program may lie in the window: step over a few, then give up.
  for (int tries = 0; tries < 8; ++tries) {
    Address start = take_addresses(bytes);
    if (start == 0) return {};
    void* memory = os::map_at(start, bytes);
    if (memory == nullptr) {
      void* anywhere = os::map(bytes);  // tells a taken address from a lack of memory
      if (anywhere == nullptr) {
        give_back_addresses(start, bytes);
        return {};
      }
      os::unmap(anywhere, bytes);
      continue;
    }
    if (g_page_map.prepare(start, bytes)) return {start, bytes};
    os::unmap(memory, bytes);
    give_back_addresses(start, bytes);
    return {};
  }
  return {};
}

Chunk from_anywhere(size_t bytes) {
  void* memory = os::map(bytes, os::MappingUse::kHeap);
  if (memory != nullptr && crosses_reach(address_of(memory), bytes)) {
    os::unmap(memory, bytes);
    memory = os::map(2 * bytes, os::MappingUse::kHeap);
    if (memory == nullptr) return {};
    Address start = address_of(memory);
    Address boundary = align_up(start, kRunReach);
    Address keep = boundary - start >= bytes ? start : boundary;
    if (keep > start) os::unmap(memory, keep - start);
    if (keep + bytes < start + 2 * bytes) os::unmap(pointer_to(keep + bytes), start + bytes - keep);
    memory = pointer_to(keep);
  }
  if (memory == nullptr) return {};
  if (g_page_map.prepare(address_of(memory), bytes)) return {address_of(memory), bytes};
  os::unmap(memory, bytes);
  return {};
}

constinit Mutex g_segment_lock{Rank::kSegment};

// The lock is held over the system call: only one thread at a time may call sbrk, which records the segment's end.
Chunk from_data_segment(size_t bytes) {
  void* memory;
  {
    Lock lock(g_segment_lock);
    memory = os::extend_data_segment(bytes, kHugePageBytes);
    if (memory != nullptr && crosses_reach(address_of(memory), bytes)) {
      memory = os::extend_data_segment(bytes, kRunReach);  // the memory below is lost: address space only
    }
  }
  if (memory == nullptr || !g_page_map.prepare(address_of(memory), bytes)) return {};
  return {address_of(memory), bytes};
}

}  // namespace

void place(Address start, size_t bytes) {
  g_start = start;
  g_bytes = bytes;
}

Address start() { return g_start; }
size_t bytes() { return g_bytes; }
size_t used_bytes() { return g_used.load(std::memory_order_relaxed); }

Chunk allocate(size_t bytes) {
  bytes = align_up(bytes, kHugePageBytes);
  Chunk chunk;
  if (options().mmap) chunk = from_window(bytes);
  if (chunk.start == 0 && options().mmap) chunk = from_anywhere(bytes);
  if (chunk.start == 0 && options().sbrk) chunk = from_data_segment(bytes);
  if (chunk.start != 0) {
    if (options().huge_pages == HugePages::kAll) {
      os::prefer_huge_pages(pointer_to(chunk.start), bytes);
    } else {
      os::avoid_huge_pages(pointer_to(chunk.start), bytes);
    }
    g_mapped.fetch_add(bytes, std::memory_order_relaxed);
  }
  return chunk;
}

void release(const Chunk& chunk) {
  os::unmap(pointer_to(chunk.start), chunk.bytes);
  if (contains(chunk.start) && is_aligned(chunk.start, kHugePageBytes)) give_back_addresses(chunk.start, chunk.bytes);
  g_mapped.fetch_sub(chunk.bytes, std::memory_order_relaxed);
}

size_t mapped_bytes() { return g_mapped.load(std::memory_order_relaxed); }

LockCounts lock_counts() { return g_lock.counts(); }

void at_fork(ForkStage stage) {
  g_segment_lock.at_fork(stage);
  g_lock.at_fork(stage);
}

}  // namespace acre::window
