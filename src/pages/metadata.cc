#include "pages/metadata.h"

#include <atomic>

#include "base/mutex.h"
#include "base/units.h"
#include "os/os.h"
#include "pages/limit.h"

namespace acre::metadata {

namespace {

// Regions double up to the largest, so that a small program maps little and a big one seldom.
constexpr size_t kFirstRegion = size_t{256} << 10;
constexpr size_t kLargestRegion = size_t{4} << 20;

constinit Mutex g_lock{Rank::kMetadata};
constinit char* g_next ACRE_GUARDED_BY(g_lock) = nullptr;
constinit char* g_end ACRE_GUARDED_BY(g_lock) = nullptr;

// In the first cache line of each region but the first, of which a small program is to touch no more than it needs.
struct Region {
  Region* older;
  char* start;
  size_t bytes;
};
static_assert(sizeof(Region) <= kCacheLine);
constinit Region g_first{nullptr, nullptr, 0};
constinit std::atomic<Region*> g_newest{nullptr};

// Where memory that can be allocated begins in a new region.
char* enter(char* memory, size_t bytes) ACRE_REQUIRES(g_lock) {
  Region* const newest = g_newest.load(std::memory_order_relaxed);
  Region* const region = newest == nullptr ? &g_first : reinterpret_cast<Region*>(memory);
  *region = {newest, memory, bytes};
  g_newest.store(region, std::memory_order_release);
  return region == &g_first ? memory : memory + kCacheLine;
}

constinit size_t g_mapped ACRE_GUARDED_BY(g_lock) = 0;
constinit size_t g_allocated ACRE_GUARDED_BY(g_lock) = 0;

void* cut(size_t bytes) ACRE_REQUIRES(g_lock) {
  if (static_cast<size_t>(g_end - g_next) < bytes) return nullptr;
  void* result = g_next;
  g_next += bytes;
  g_allocated += bytes;
  limit::take_in_any_case(bytes);
  return result;
}

}  // namespace

void* allocate(size_t bytes) {
  bytes = align_up(bytes, kCacheLine);
  size_t region;
  {
    Lock lock(g_lock);
    if (void* result = cut(bytes)) return result;
    region = larger(smaller(larger(g_mapped, kFirstRegion), kLargestRegion), align_up(bytes + kCacheLine, kPageBytes));
  }
  region = align_up(region, os::page_bytes());
  void* memory = os::map(region);
  if (memory == nullptr) return nullptr;
  Lock lock(g_lock);
  g_mapped += region;
  char* const end = static_cast<char*>(memory) + region;
  char* const start = enter(static_cast<char*>(memory), region);
  if (g_end - g_next < end - start) {  // else another thread was faster; keep the larger rest
    g_next = start;
    g_end = end;
  }
  return cut(bytes);
}

void for_each_region(void (*visit)(Address start, size_t bytes, void* argument), void* argument) {
  for (const Region* region = g_newest.load(std::memory_order_acquire); region != nullptr; region = region->older) {
    visit(address_of(region->start), region->bytes, argument);
  }
}

size_t mapped_bytes() {
  Lock lock(g_lock);
  return g_mapped;
}
size_t allocated_bytes() {
  Lock lock(g_lock);
  return g_allocated;
}

LockCounts lock_counts() { return g_lock.counts(); }

void before_fork() { g_lock.before_fork(); }
void after_fork_in_parent() { g_lock.after_fork_in_parent(); }
void after_fork_in_child() { g_lock.after_fork_in_child(); }

}  // namespace acre::metadata
