#include "leaks/memory.h"

#include <string.h>

#include "os/unwind.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "report/mappings.h"
#include "slab/unit_table.h"

namespace acre::leaks {

namespace {

// Functions may use so many bytes below the stack pointer without moving it.
constexpr size_t kRedZone = 128;
constexpr size_t kMoreMappings = 256;  // the check itself makes some mappings

struct Looking {
  const os::Threads& threads;
  Memory& memory;
  Ranges out;        // sorted: where no roots are
  size_t count = 0;  // of mappings
  report::Mapping before;
};

bool is_device(const char* path) {
  constexpr char kDevices[] = "/dev/", kShared[] = "/dev/shm/", kZero[] = "/dev/zero";
  if (strncmp(path, kDevices, sizeof kDevices - 1) != 0) return false;
  return strncmp(path, kShared, sizeof kShared - 1) != 0 && strncmp(path, kZero, sizeof kZero - 1) != 0;
}

// Returns where the used part of a mapping begins: in a stack, at the stack pointer. A mapping is a stack if it holds
// just one stack pointer, and that thread's control block above the stack pointer, or if the kernel calls it one.
Address used_from(const report::Mapping& mapping, const os::Threads& threads) {
  const bool is_first = strcmp(mapping.path, "[stack]") == 0;
  Address from = mapping.start;
  unsigned pointers = 0;
  for (unsigned i = 0; i < threads.count; ++i) {
    const os::ThreadState& thread = threads.thread[i];
    if (thread.stack_pointer - mapping.start >= mapping.end - mapping.start) continue;
    ++pointers;
    const Address block = thread.control_block;
    if (is_first || (block > thread.stack_pointer && block < mapping.end)) from = thread.stack_pointer - kRedZone;
  }
  return pointers == 1 ? larger(from, mapping.start) : mapping.start;
}

void count_mapping(const report::Mapping&, void* argument) { ++static_cast<Looking*>(argument)->count; }

void add_roots(Looking& looking, Address from, Address end) {
  for (const Range& out : looking.out) {
    if (out.end <= from || out.start >= end) continue;
    if (out.start > from) looking.memory.roots.add(from, out.start);
    from = larger(from, out.end);
  }
  looking.memory.roots.add(from, end);
}

// The variables of a file that could be written until the loader was done (RELRO) lie before its other variables.
bool are_early_variables(const report::Mapping& mapping, const report::Mapping& variables) {
  return mapping.readable && !mapping.writable && !mapping.executable && mapping.end == variables.start &&
         variables.path[0] != '\0' && strcmp(mapping.path, variables.path) == 0;
}

void add_mapping(const report::Mapping& mapping, void* argument) {
  auto& looking = *static_cast<Looking*>(argument);
  if (mapping.readable && !is_device(mapping.path)) {
    looking.memory.readable.add(mapping.start, mapping.end);
    if (mapping.writable) {
      if (are_early_variables(looking.before, mapping)) add_roots(looking, looking.before.start, mapping.start);
      add_roots(looking, used_from(mapping, looking.threads), mapping.end);
    }
  }
  looking.before = mapping;
}

size_t count_regions() {
  size_t count = 0;
  metadata::for_each_region([](Address, size_t, void* to) { ++*static_cast<size_t*>(to); }, &count);
  g_page_map.for_each_leaf([&count](Address, size_t) { ++count; });
  return count;
}

void add_own(Ranges& out, const Blocks& blocks, const Room& room) {
  blocks.for_each_part([&out](Address start, size_t bytes) { out.add(start, start + bytes); });
  metadata::for_each_region(
      [](Address start, size_t bytes, void* to) { static_cast<Ranges*>(to)->add(start, start + bytes); }, &out);
  g_page_map.for_each_leaf([&out](Address start, size_t bytes) { out.add(start, start + bytes); });
  out.add(address_of(unit_table::g_headers), address_of(unit_table::g_headers) + unit_table::reserved_bytes());
  room.for_each([&out](Address start, size_t bytes) { out.add(start, start + bytes); });
  const os::OwnImage image = os::own_image();
  out.add(image.start, image.end);
}

size_t count_parts(const Blocks& blocks) {
  Address end = 0;
  size_t count = 0;
  blocks.for_each_part([&](Address start, size_t bytes) {
    count += start != end;
    end = start + bytes;
  });
  return count;
}

}  // namespace

// Heap sort: it needs no memory and is never slow.
void Ranges::sort() {
  const auto sink = [this](size_t at, size_t count) {
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
      if (child + 1 < count && range_[child].start < range_[child + 1].start) ++child;
      if (range_[at].start >= range_[child].start) return;
      const Range parent = range_[at];
      range_[at] = range_[child];
      range_[child] = parent;
    }
  };
  for (size_t i = count_ / 2; i-- > 0;) sink(i, count_);
  for (size_t rest = count_; rest > 1;) {
    --rest;
    const Range last = range_[rest];
    range_[rest] = range_[0];
    range_[0] = last;
    sink(0, rest);
  }
}

bool Memory::look(Room& room, const Blocks& blocks, const os::Threads& threads, const Range* left_out,
                  size_t left_out_count) {
  Looking looking{threads, *this, {}, 0, {}};
  if (!report::for_each_part(count_mapping, &looking)) return false;
  constexpr size_t kOthers = 64;
  const size_t parts = count_parts(blocks) + count_regions() + left_out_count + kOthers;
  const size_t mappings = looking.count + kMoreMappings;
  if (!looking.out.prepare(room, parts)) return false;
  if (!readable.prepare(room, mappings) || !roots.prepare(room, 2 * mappings + parts)) return false;
  add_own(looking.out, blocks, room);
  looking.out.add(threads.helper_start, threads.helper_end);
  for (size_t i = 0; i < left_out_count; ++i) looking.out.add(left_out[i].start, left_out[i].end);
  looking.out.sort();
  if (!report::for_each_part(add_mapping, &looking)) return false;
  return looking.out.is_whole() && readable.is_whole() && roots.is_whole();
}

}  // namespace acre::leaks
