#include "report/large_report.h"

#include <atomic>

#include "base/atomics.h"
#include "base/text.h"
#include "os/mapped.h"
#include "os/unwind.h"
#include "report/mappings.h"
#include "sample/at_work.h"
#include "sample/capture.h"
#include "tables/options.h"

namespace acre::report {

namespace {

constexpr unsigned kMostFramesTold = 48;
constinit std::atomic<size_t> g_next{0};  // no report before an allocation is as large

// Bounds what is written by a program whose allocations grow: 60 reports from 1 GiB to 1 TiB.
size_t next_after(size_t n) { return n + n / 8; }

bool is_to_be_told(size_t n) {
  const size_t from = static_cast<size_t>(relaxed_load(options().large_alloc_report));
  if (from == 0) return false;
  size_t next = g_next.load(std::memory_order_relaxed);
  do {
    if (n < larger(from, next)) return false;
  } while (!g_next.compare_exchange_weak(next, next_after(n), std::memory_order_relaxed));
  return true;
}

// What a report is made in.
struct Draft {
  capture::Frames frames;
  unsigned count = 0;
  Address start[kMostFramesTold] = {};   // where the frame's code is mapped, less its offset in the file
  unsigned path[kMostFramesTold] = {};   // in names
  Line<8 << 10> names;                   // paths, each ended by a newline
  Line<16 << 10> text;

  void look_up(const Mapping& mapping);
  void add_frame(unsigned i);
};

void Draft::look_up(const Mapping& mapping) {
  bool is_named = false;
  const unsigned name = static_cast<unsigned>(names.size());
  for (unsigned i = 0; i < count; ++i) {
    const Address code = frames.address[i];
    if (code < mapping.start || code >= mapping.end) continue;
    if (!is_named) names.add(mapping.path).add('\n');
    is_named = true;
    start[i] = mapping.start - mapping.offset;
    path[i] = name;
  }
}

void Draft::add_frame(unsigned i) {
  text.add("acre:   ").hex(frames.address[i]);
  const char* name = names.c_str() + path[i];
  if (start[i] != 0 && *name != '\0' && *name != '\n') {
    text.add("  ");
    for (; *name != '\0' && *name != '\n'; ++name) text.add(*name);
    text.add('+').hex(frames.address[i] - start[i]);
  }
  text.add('\n');
}

// Opens an unwinder only in a process of one thread: another thread may hold the loader's lock and wait for this one.
void tell(Draft& draft, const void* block, size_t n) {
  if (os::is_alone() || os::has_unwinder()) capture::prepare();
  capture::take(draft.frames);
  draft.count = smaller(draft.frames.count, kMostFramesTold);
  for_each_mapping([](const Mapping& mapping, void* to) { static_cast<Draft*>(to)->look_up(mapping); }, &draft);
  draft.text.add("acre: large allocation of ").bytes(n).add(" (").decimal(n).add(" bytes) at ").hex(address_of(block));
  draft.text.add("; the next one is told from ").decimal(next_after(n)).add(" bytes on\n");
  for (unsigned i = 0; i < draft.count; ++i) draft.add_frame(i);
  if (draft.count < draft.frames.count || draft.frames.truncated) draft.text.add("acre:   (there may be more)\n");
  write_all(2, draft.text.c_str(), draft.text.size());
}

}  // namespace

void large_block(const void* block, size_t n) {
  if (!is_to_be_told(n)) return;
  const AtWork at_work;
  if (at_work.is_inner()) return;
  const os::Mapped<Draft> draft;
  if (draft.get() != nullptr) tell(*draft.get(), block, n);
}

}  // namespace acre::report
