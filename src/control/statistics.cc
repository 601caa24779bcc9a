#include "control/statistics.h"

#include <unistd.h>

#include "acre/acre.h"
#include "base/text.h"
#include "control/constraints.h"
#include "heap/explicit.h"
#include "heap/explicit.h"
#include "heap/fill.h"
#include "heap/registry.h"
#include "heap/watched_run.h"
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
  const SlabUse use = use_of(run);
  if (use.block_bytes == 0) return;
  Statistics& s = to.sums;
  s.free_blocks += use.free();
  s.free_block_bytes += use.free() * use.block_bytes;
  s.owned_free_bytes += use.at_owner * use.block_bytes;
  s.returned_bytes += use.returned * use.block_bytes;
  s.live_blocks += use.live;
  if (to.each == nullptr) return;
  ArenaStatistics& arena = to.each[arenas::figures_of(racy_load(arena_of(run)->index))];
  arena.slab_pages += use.pages;
  arena.small_bytes += use.live * use.block_bytes;
}

// In no moment's state: their owners go on changing them.
void add_slabs(const Gathered& to) {
  g_page_map.for_each_run([&to](const Run* run) {
    if (has_blocks_of_a_class(run)) add_slab(to, run);
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

static SlabUse use_of_watched(const Run* run) {
  SlabUse use;
  const WatchedRun* watched = racy_load(run->watched);
  if (watched == nullptr) return use;
  use.block_bytes = watched->block_bytes;
  use.size_class = watched->size_class;
  use.pages = racy_load(run->pages);
  use.unowned = smaller(racy_load(watched->free), watched->capacity);
  use.live = watched->capacity - use.unowned;
  return use;
}

SlabUse use_of(const Run* run) {
  if (racy_load(run->kind) == RunKind::kWatched) return use_of_watched(run);
  SlabUse use;
  const Slab* slab = racy_load(run->slab);
  use.block_bytes = slab == nullptr ? 0 : racy_load(slab->block_bytes);
  if (use.block_bytes == 0) return use;
  const uint32_t capacity = racy_load(slab->capacity);
  const uint32_t used = static_cast<uint32_t>(racy_load(slab->countdown) + racy_load(slab->floor));  // slab::used
  const RemoteWord word = load_remote(slab);
  use.size_class = racy_load(slab->size_class);
  use.pages = racy_load(slab->pages);
  use.owner = racy_load(slab->owner);
  if (word.holding == Holding::kOwned) {
    use.at_owner = capacity - smaller(used, capacity);
    use.returned = smaller(word.free, capacity - use.at_owner);
  } else {
    use.unowned = smaller<uint32_t>(word.free, capacity);
  }
  use.live = capacity - use.free();
  return use;
}

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
  arenas::for_each([&](Arena& arena) { add_arena(to, arena); });
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
  add_constraints(text);
}

void print_summary(int fd) {
  Line<kSummaryBytes> text;
  add_summary(text);
  write_all(fd, text.c_str(), text.size());
}

}  // namespace acre
