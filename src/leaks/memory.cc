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
constexpr size_t kMostGaps = size_t{1} << 16;  // pages in mappings that cannot be read

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

bool is_in(const report::Mapping& mapping, Address a) { return a - mapping.start < mapping.end - mapping.start; }

bool has_pointer_in(const os::Threads& threads, Address start, Address end) {
  for (unsigned i = 0; i < threads.count; ++i) {
    if (threads.thread[i].stack_pointer - start < end - start) return true;
  }
  return false;
}

// Returns where the thread's stack begins, which is in this mapping; 0: that is not known. A stack other than the first
// thread's begins behind a guard, which is a mapping or a page (MADV_GUARD_INSTALL), and ends with its thread's control
// block. Where no guard is, there may be other data below, as below a stack in static memory.
Address start_of_stack(const Looking& looking, const report::Mapping& mapping, const os::ThreadState& thread) {
  const Address pointer = thread.stack_pointer, block = thread.control_block;
  const bool is_first = strcmp(mapping.path, "[stack]") == 0;
  if (!is_in(mapping, pointer)) return 0;
  if (is_first ? is_in(mapping, block) : !is_in(mapping, block) || block < pointer) return 0;
  const bool is_guarded = looking.before.end == mapping.start && !looking.before.readable;
  if ((is_first || is_guarded) && !has_pointer_in(looking.threads, mapping.start, pointer)) return mapping.start;
  for (Address page = align_down(pointer, kPageBytes); page > mapping.start; page -= kPageBytes) {
    if (!os::is_readable(page - kPageBytes)) return has_pointer_in(looking.threads, page, pointer) ? 0 : page;
  }
  return 0;
}

// No roots are in stacks below the stack pointer.
void leave_out_unused(const report::Mapping& mapping, void* argument) {
  auto& looking = *static_cast<Looking*>(argument);
  for (unsigned i = 0; mapping.writable && i < looking.threads.count; ++i) {
    const os::ThreadState& thread = looking.threads.thread[i];
    const Address start = start_of_stack(looking, mapping, thread);
    if (start != 0) looking.out.add(start, thread.stack_pointer - kRedZone);
  }
  looking.before = mapping;
}

void count_mapping(const report::Mapping&, void* argument) { ++static_cast<Looking*>(argument)->count; }

// A mapping may have pages that cannot be read: guards (MADV_GUARD_INSTALL), and those behind a file's end.
void add_readable(Ranges& roots, Address from, Address end) {
  while (from < end) {
    const Address page_end = smaller(end, align_down(from, kPageBytes) + kPageBytes);
    if (os::is_readable(from)) roots.add(from, page_end);
    from = page_end;
  }
}

void add_roots(Looking& looking, Address from, Address end) {
  for (const Range& out : looking.out) {
    if (out.end <= from || out.start >= end) continue;
    if (out.start > from) add_readable(looking.memory.roots, from, out.start);
    from = larger(from, out.end);
  }
  add_readable(looking.memory.roots, from, end);
}

// The variables of a file that could be written until the loader was done (RELRO) lie before its other variables.
bool are_early_variables(const report::Mapping& mapping, const report::Mapping& variables) {
  return mapping.readable && !mapping.writable && !mapping.executable && mapping.end == variables.start &&
         variables.path[0] != '\0' && strcmp(mapping.path, variables.path) == 0;
}

void add_mapping(const report::Mapping& mapping, void* argument) {
  auto& looking = *static_cast<Looking*>(argument);
  if (mapping.readable) looking.memory.readable.add(mapping.start, mapping.end);
  if (mapping.readable && mapping.writable && !is_device(mapping.path)) {
    if (are_early_variables(looking.before, mapping)) add_roots(looking, looking.before.start, mapping.start);
    add_roots(looking, mapping.start, mapping.end);
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
  const size_t parts = count_parts(blocks) + count_regions() + left_out_count + threads.count + kOthers;
  const size_t mappings = looking.count + kMoreMappings;
  if (!looking.out.prepare(room, parts)) return false;
  if (!readable.prepare(room, mappings) || !roots.prepare(room, 2 * mappings + parts + kMostGaps)) return false;
  add_own(looking.out, blocks, room);
  looking.out.add(threads.helper_start, threads.helper_end);
  for (size_t i = 0; i < left_out_count; ++i) looking.out.add(left_out[i].start, left_out[i].end);
  if (!report::for_each_part(leave_out_unused, &looking)) return false;
  looking.out.sort();
  looking.before = {};
  if (!report::for_each_part(add_mapping, &looking)) return false;
  return looking.out.is_whole() && readable.is_whole() && roots.is_whole();
}

}  // namespace acre::leaks
