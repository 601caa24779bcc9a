#include "control/statistics.h"

#include <unistd.h>

#include "acre/acre.h"
#include "base/text.h"
#include "heap/explicit.h"
#include "heap/fill.h"
#include "heap/registry.h"
#include "os/os.h"
#include "tables/options.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/page_map.h"
#include "pages/release_rate.h"
#include "pages/window.h"
#include "slab/unit_table.h"

namespace acre {

namespace {

// Where it all goes.
struct Gathered {
  Statistics& sums;
  ArenaStatistics* each;
};

void add_slab(const Gathered& to, const Run* run) {
  const Slab* slab = racy_load(run->slab);
  const size_t block_bytes = slab == nullptr ? 0 : racy_load(slab->block_bytes);
  if (block_bytes == 0) return;
  Statistics& s = to.sums;
  const uint32_t capacity = racy_load(slab->capacity);
  const uint32_t used = static_cast<uint32_t>(racy_load(slab->countdown) + racy_load(slab->floor));  // slab::used
  const RemoteWord word = load_remote(slab);
  const uint32_t local = word.holding == Holding::kOwned ? capacity - smaller(used, capacity) : 0;
  const uint32_t free = smaller<uint32_t>(word.free + local, capacity);
  s.free_blocks += free;
  s.free_block_bytes += free * block_bytes;
  s.live_blocks += capacity - free;
  if (to.each == nullptr) return;
  ArenaStatistics& arena = to.each[arenas::figures_of(racy_load(arena_of(run)->index))];
  arena.slab_pages += racy_load(slab->pages);
  arena.small_bytes += (capacity - free) * block_bytes;
}

// In no moment's state: their owners go on changing them.
void add_slabs(const Gathered& to) {
  g_page_map.for_each_run([&to](const Run* run) {
    if (racy_load(run->kind) == RunKind::kSlab) add_slab(to, run);
  });
}

void add_heap(Heap& heap, void* argument) {
  auto& to = *static_cast<Gathered*>(argument);
  Statistics& s = to.sums;
  ++s.threads;
  if (to.each != nullptr) ++to.each[heap.arena->index].threads;
  s.refills += relaxed_load(heap.counts.refills);
  s.new_runs += relaxed_load(heap.counts.new_runs);
  s.adoptions += relaxed_load(heap.counts.adoptions);
  s.remote_frees += relaxed_load(heap.counts.remote_frees);
}

void add_arena(const Gathered& to, Arena& arena) {
  Statistics& s = to.sums;
  PageCounts counts = arena.pages.counts();
  s.used_runs += counts.used * kPageBytes;
  s.dirty_bytes += counts.dirty * kPageBytes;
  s.muzzy_bytes += counts.muzzy * kPageBytes;
  s.clean_bytes += counts.clean * kPageBytes;
  s.purges += counts.purges;
  s.purged_bytes += counts.purged * kPageBytes;
  if (to.each == nullptr) return;
  ArenaStatistics& own = to.each[arenas::figures_of(relaxed_load(arena.index))];
  own.used_pages += counts.used;
  own.dirty_pages += counts.dirty;
  own.muzzy_pages += counts.muzzy;
  own.clean_pages += counts.clean;
  own.purges += counts.purges;
  own.purged_pages += counts.purged;
}

}  // namespace

Statistics gather_statistics(ArenaStatistics* each) {
  Statistics s;
  Gathered to{s, each};
  huge::Counts huge = huge::counts();
  s.huge_blocks = huge.blocks;
  s.huge_bytes = huge.bytes;
  s.metadata = metadata::allocated_bytes() + unit_table::used_bytes();
  s.mapped = window::mapped_bytes() + huge.bytes + metadata::mapped_bytes() + unit_table::used_bytes();
  s.arenas = arenas::count();
  s.background_thread = background::state();
  for (unsigned i = 0; i < s.arenas; ++i) add_arena(to, *arenas::at(i));
  for (Arena* arena = arenas::first_explicit(); arena != nullptr; arena = arena->next_explicit) add_arena(to, *arena);
  add_slabs(to);
  registry::for_each(add_heap, &to);
  s.live_bytes = s.used_runs - smaller(s.used_runs, s.free_block_bytes) + s.huge_bytes;
  return s;
}

static void add_fate_of_dirty_pages(Text& text, bool at_any_time) {
  const int64_t rate = release_rate::get();
  const int64_t decay_ms = relaxed_load(options().dirty_decay_ms);
  const char* when = at_any_time ? ")\n" : " of allocation activity)\n";
  if (rate > 0) {
    text.add("  (returned to the system at ").bytes(static_cast<size_t>(rate)).add(" a second").add(when);
  } else if (rate == 0) {
    text.add("  (kept: release_rate is 0)\n");
  } else if (decay_ms < 0) {
    text.add("  (kept: dirty_decay_ms is negative)\n");
  } else {
    text.add("  (returned to the system within ").signed_decimal(decay_ms);
    text.add(" ms").add(when);
  }
}

static void add_background_thread(Text& text, background::State state) {
  const char* what = "not made, too little was allocated";
  if (state == background::State::kRunning) what = "runs";
  if (fill::is_on()) what = "none while blocks are filled";
  if (state == background::State::kRefused) what = "refused by the system; memory returns with allocation activity";
  text.add("  background thread: ").add(what).add('\n');
}

void add_summary(Text& text) {
  Statistics s = gather_statistics();
  text.add("acre " ACRE_VERSION ", process ").decimal(static_cast<uint64_t>(getpid())).add('\n');
  text.add("  live            ").bytes(s.live_bytes).add('\n');
  text.add("  free in runs    ").bytes(s.free_block_bytes).add('\n');
  text.add("  dirty pages     ").bytes(s.dirty_bytes);
  add_fate_of_dirty_pages(text, s.background_thread == background::State::kRunning);
  if (relaxed_load(options().muzzy_decay_ms) != 0) {
    text.add("  muzzy pages     ").bytes(s.muzzy_bytes).add("  (resident until the system takes them)\n");
  }
  text.add("  metadata        ").bytes(s.metadata).add('\n');
  text.add("  resident        ").bytes(os::resident_bytes()).add("  (the whole process)\n");
  text.add("  mapped          ").bytes(s.mapped).add(" of address space\n");
  text.add("  threads ").decimal(s.threads).add(", arenas ").decimal(s.arenas);
  text.add(", refills ").decimal(s.refills).add(", new runs ").decimal(s.new_runs);
  text.add(", adoptions ").decimal(s.adoptions);
  text.add(", remote frees ").decimal(s.remote_frees).add('\n');
  text.add("  purged ").bytes(s.purged_bytes).add(" in ").decimal(s.purges).add(" calls\n");
  if (options().background_thread) add_background_thread(text, s.background_thread);
}

void print_summary(int fd) {
  Line<kSummaryBytes> text;
  add_summary(text);
  write_all(fd, text.c_str(), text.size());
}

}  // namespace acre
