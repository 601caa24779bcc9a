#include "pages/metadata.h"

#include <string.h>

#include <atomic>
#include <new>

#include "base/fatal.h"
#include "base/mutex.h"
#include "base/units.h"
#include "os/os.h"
#include "pages/between_guards.h"
#include "pages/limit.h"

namespace acre::metadata {

namespace {

// Regions double in size up to the largest, so that a small program maps little and a large one seldom maps.
constexpr size_t kFirstRegion = size_t{256} << 10;
constexpr size_t kLargestRegion = size_t{4} << 20;

constinit Mutex g_lock{Rank::kMetadata};
constinit char* g_next ACRE_GUARDED_BY(g_lock) = nullptr;
constinit char* g_end ACRE_GUARDED_BY(g_lock) = nullptr;

// Lies in the first cache line of its region. Only the first region has its record elsewhere (g_first), so that a small
// program touches no more of that region than it needs.
struct Region {
  Region* older;
  char* start;
  size_t bytes;
};
static_assert(sizeof(Region) <= kCacheLine);
constinit Region g_first{nullptr, nullptr, 0};
constinit std::atomic<Region*> g_newest{nullptr};

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

// Mapped by this thread, and not yet used by another. start is null if memory is refused.
struct NewRegion {
  char* start = nullptr;
  char* end = nullptr;
};
NewRegion map_region(size_t bytes) {
  size_t region;
  {
    Lock lock(g_lock);
    region = larger(smaller(larger(g_mapped, kFirstRegion), kLargestRegion), align_up(bytes, kPageBytes));
  }
  region = align_up(region, os::page_bytes());
  char* memory = static_cast<char*>(map_between_guards(region));
  if (memory == nullptr) return {};
  Lock lock(g_lock);
  g_mapped += region;
  return {enter(memory, region), memory + region};
}

// --- Whole pages ----------------------------------------------------------------------------------------------

// A stack of the addresses of pages of one size that were given back. It is in other memory, since those pages can hold
// nothing, and has space for all pages of this size that were ever made.
struct Stack {
  static constexpr size_t kRoom = kPageBytes / sizeof(void*) - 2;
  Stack* below = nullptr;
  Stack* above = nullptr;
  void* address[kRoom];
};
struct Kind {
  size_t bytes = 0;
  size_t made = 0;
  size_t room = 0;
  size_t in_top = 0;     // addresses in the top stack
  Stack* top = nullptr;  // all above it are empty, and it is empty too if in_top is 0
};
constinit Kind g_kinds[kPageKinds] ACRE_GUARDED_BY(g_lock) = {};
constinit char* g_next_page ACRE_GUARDED_BY(g_lock) = nullptr;
constinit char* g_end_of_pages ACRE_GUARDED_BY(g_lock) = nullptr;

ACRE_COLD Kind& kind_of(size_t bytes) ACRE_REQUIRES(g_lock) {
  for (Kind& kind : g_kinds) {
    if (kind.bytes == 0) kind.bytes = bytes;
    if (kind.bytes == bytes) return kind;
  }
  fatal("more kinds of metadata pages than there may be");
}

ACRE_COLD void* pop(Kind& kind) ACRE_REQUIRES(g_lock) {
  if (kind.in_top == 0) {
    if (kind.top == nullptr || kind.top->below == nullptr) return nullptr;
    kind.top = kind.top->below;
    kind.in_top = Stack::kRoom;
  }
  return kind.top->address[--kind.in_top];
}

ACRE_COLD void push(Kind& kind, void* memory) ACRE_REQUIRES(g_lock) {
  if (kind.in_top == Stack::kRoom) {
    kind.top = kind.top->above;
    kind.in_top = 0;
  }
  kind.top->address[kind.in_top++] = memory;
}

ACRE_COLD void add_room(Kind& kind, Stack* more) ACRE_REQUIRES(g_lock) {
  kind.room += Stack::kRoom;
  if (kind.top == nullptr) {
    kind.top = more;
    return;
  }
  Stack* highest = kind.top;
  while (highest->above != nullptr) highest = highest->above;
  highest->above = more;
  more->below = highest;
}

// Null: the region or the stack has no space.
ACRE_COLD void* cut_pages(Kind& kind) ACRE_REQUIRES(g_lock) {
  if (static_cast<size_t>(g_end_of_pages - g_next_page) < kind.bytes || kind.made == kind.room) return nullptr;
  void* result = g_next_page;
  g_next_page += kind.bytes;
  ++kind.made;
  return result;
}

ACRE_COLD size_t whole_pages(size_t bytes) { return align_up(bytes, larger(os::page_bytes(), kPageBytes)); }

}  // namespace

void* allocate(size_t bytes) {
  bytes = align_up(bytes, kCacheLine);
  {
    Lock lock(g_lock);
    if (void* result = cut(bytes)) return result;
  }
  const NewRegion region = map_region(bytes + kCacheLine);
  if (region.start == nullptr) return nullptr;
  Lock lock(g_lock);
  if (g_end - g_next < region.end - region.start) {  // else another thread was faster; keep the larger rest
    g_next = region.start;
    g_end = region.end;
  }
  return cut(bytes);
}

ACRE_COLD void* allocate_pages(size_t bytes) {
  bytes = whole_pages(bytes);
  for (;;) {
    bool is_full;
    {
      Lock lock(g_lock);
      Kind& kind = kind_of(bytes);
      void* memory = pop(kind);
      if (memory == nullptr) memory = cut_pages(kind);
      if (memory != nullptr) {
        g_allocated += bytes;
        limit::take_in_any_case(bytes);
        return memory;
      }
      is_full = kind.made == kind.room;
    }
    if (is_full) {
      void* more = allocate(sizeof(Stack));
      if (more == nullptr) return nullptr;
      Lock lock(g_lock);
      add_room(kind_of(bytes), new (more) Stack);
      continue;
    }
    const NewRegion region = map_region(bytes + whole_pages(1));
    if (region.start == nullptr) return nullptr;
    char* const start = static_cast<char*>(pointer_to(align_up(address_of(region.start), whole_pages(1))));
    Lock lock(g_lock);
    if (g_end_of_pages - g_next_page >= region.end - start) continue;  // another thread was faster; keep the larger
    g_next_page = start;
    g_end_of_pages = region.end;
  }
}

ACRE_COLD void give_back_pages(void* memory, size_t bytes) {
  bytes = whole_pages(bytes);
  if (!os::purge(memory, bytes)) memset(memory, 0, bytes);
  limit::give_back(bytes);
  Lock lock(g_lock);
  g_allocated -= bytes;
  push(kind_of(bytes), memory);
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

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::metadata
