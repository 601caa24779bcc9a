#include "pages/program_source.h"

#include <new>

#include "base/bits.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "pages/source.h"

namespace acre {

// --- Memory from acre to the function ---------------------------------------------------------------------------

namespace {

struct Mapping {
  Address start;
  size_t bytes;
  Mapping* next;
};
constinit std::atomic<Mapping*> g_mappings{nullptr};

bool is_of_system(Address start, size_t bytes) {
  for (const Mapping* at = g_mappings.load(std::memory_order_acquire); at != nullptr; at = at->next) {
    if (start >= at->start && start + bytes <= at->start + at->bytes) return true;
  }
  return false;
}

template <class Item>
void add(std::atomic<Item*>& to, Item* item) {
  item->next = to.load(std::memory_order_relaxed);
  while (!to.compare_exchange_weak(item->next, item, std::memory_order_release, std::memory_order_relaxed)) {
  }
}

}  // namespace

void* ProgramSource::map_system(size_t bytes, size_t* actual, size_t alignment) {
  if (bytes == 0 || bytes > PTRDIFF_MAX || !is_power_of_two(alignment)) return nullptr;
  bytes = align_up(bytes, os::page_bytes());
  void* record = metadata::allocate(sizeof(Mapping));
  const Address start = record == nullptr ? 0 : map_anonymous(bytes, alignment);
  if (start == 0) return nullptr;
  add(g_mappings, new (record) Mapping{start, bytes, nullptr});
  if (actual != nullptr) *actual = bytes;
  return pointer_to(start);
}

// --- Memory from the function to acre ---------------------------------------------------------------------------

const ProgramSource::Function* ProgramSource::make(Allocate allocate, void* opaque) {
  void* memory = metadata::allocate(sizeof(Function));
  return memory == nullptr ? nullptr : new (memory) Function{allocate, opaque};
}

ProgramSource::Part* ProgramSource::take_spare(size_t bytes) {
  for (Part* part = parts_.load(std::memory_order_acquire); part != nullptr; part = part->next) {
    if (part->bytes >= bytes && !part->taken.load(std::memory_order_relaxed) && !part->taken.exchange(true)) return part;
  }
  return nullptr;
}

// Cuts the memory into parts that can be chunks. Memory for which a record is refused is lost.
void ProgramSource::add_parts(Address start, Address end) {
  const bool may_be_purged = is_of_system(start, end - start);
  while (start < end) {
    const Address reach = align_down(start, window::kRunReach) + window::kRunReach;
    const size_t bytes = smaller(smaller(end, reach) - start, window::kMostChunk);
    void* memory = g_page_map.prepare(start, bytes) ? metadata::allocate(sizeof(Part)) : nullptr;
    if (memory == nullptr) return;
    add(parts_, new (memory) Part{start, bytes, may_be_purged, false, nullptr});
    start += bytes;
  }
}

bool ProgramSource::get(size_t bytes, size_t alignment) {
  const Function* function = function_.load(std::memory_order_acquire);
  if (function == nullptr) return false;
  size_t actual = bytes;
  void* memory = function->allocate(function->opaque, bytes, &actual, alignment);
  if (memory == nullptr || actual < bytes) return false;
  const Address start = align_up(address_of(memory), kHugePageBytes);
  add_parts(start, align_down(address_of(memory) + actual, kHugePageBytes));
  return true;
}

// The function's first answer may cross a multiple of kRunReach, which makes two parts that are too short.
window::Chunk ProgramSource::chunk(size_t bytes) {
  Part* part = take_spare(bytes);
  if (part == nullptr && get(bytes, kHugePageBytes)) part = take_spare(bytes);
  if (part == nullptr && get(bytes, size_t{1} << (floor_log2(bytes - 1) + 1))) part = take_spare(bytes);
  return part == nullptr ? window::Chunk{} : window::Chunk{part->start, part->bytes, false};
}

bool ProgramSource::take_back(const window::Chunk& chunk) {
  for (Part* part = parts_.load(std::memory_order_acquire); part != nullptr; part = part->next) {
    if (part->start != chunk.start) continue;
    part->taken.store(false, std::memory_order_release);
    return true;
  }
  return false;
}

huge_pages::Range ProgramSource::first_to_purge(huge_pages::Range range) const {
  for (bool begins_later = true; begins_later;) {
    begins_later = false;
    for (const Part* part = parts_.load(std::memory_order_acquire); part != nullptr; part = part->next) {
      const Address end = part->start + part->bytes;
      if (part->may_be_purged || part->start >= range.end || end <= range.start) continue;
      if (part->start > range.start) {
        range.end = part->start;
      } else {
        range.start = smaller(end, range.end);
        begins_later = true;
      }
    }
  }
  return range;
}

}  // namespace acre
