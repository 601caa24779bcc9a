// Makes, resets, destroys and retires manual arenas.
#include <new>

#include "base/text.h"
#include "cache/registry.h"
#include "cache/upcalls.h"
#include "manual/manual_arena.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "tables/options.h"

namespace acre::arenas {

constinit std::atomic<bool> g_has_surplus{false};

namespace {

// An arena has one piece of memory, for its first heap, some headers of runs and itself. The layout by pages of 4 KiB
// lets an arena in which little lives use two of the seven pages, and a fork write to one of them:
//
//   0        1        2        3        4        5        6
//   |        |        | small  |        | headers| free   |        |
//   | large classes'  | classes| table, | locks, | dirty  | bins of|
//   | use             | lists  | unused | free   | runs,  | other  |
//   |                 |        |        | clean  | bins of small   |
//   |                 |        |        | runs   | classes| classes|
struct Piece {
  static constexpr size_t kListsBytes =
      align_up(sizeof(Slots), kCacheLine) + sizeof(HeapState) + sizeof(OwnerLives) + 2;  // up to the table
  static constexpr size_t kHeapAt = 3 * kPageBytes - align_up(kListsBytes, kCacheLine) - sizeof(ColdHeap);
  static constexpr size_t kHeadersAt = align_up(kHeapAt + Heap::kBytes, kPageBytes);
  static constexpr size_t kHeaders = 8;
  static constexpr size_t kArenaAt = align_up(kHeadersAt + kHeaders * sizeof(Run), kCacheLine);
  static constexpr size_t kBytes = align_up(kArenaAt + sizeof(ManualArena), kPageBytes);

  static char* of(ManualArena& arena) { return reinterpret_cast<char*>(&arena) - kArenaAt; }
};

static_assert(Piece::kHeapAt % kCacheLine == 0);

// Spares that are kept: kFewSpares, and one for each kAliveForASpare live arenas.
constexpr size_t kFewSpares = 16;
constexpr size_t kAliveForASpare = 4;

constinit ManualArena* g_spare ACRE_GUARDED_BY(manual_lock) = nullptr;
constinit size_t g_spares ACRE_GUARDED_BY(manual_lock) = 0;
constinit size_t g_alive ACRE_GUARDED_BY(manual_lock) = 0;  // with arenas that are being made
constinit Retired g_retired ACRE_GUARDED_BY(manual_lock);

// --- Arenas ---------------------------------------------------------------------------------------------------

ManualArena* make_arena() {
  start_process();
  if (count() == 0) registry::initialize_thread();  // ticks rely on an automatic arena
  char* memory = count() == 0 ? nullptr : static_cast<char*>(metadata::allocate_pages(Piece::kBytes));
  if (memory == nullptr) return nullptr;
  auto* made = new (memory + Piece::kArenaAt) ManualArena;
  made->arena.is_manual = true;
  made->arena.index = kNoNumber;
  made->arena.pages.keep_chunks(&at(0)->pages);
  made->arena.pages.add_headers(memory + Piece::kHeadersAt, Piece::kHeaders);
  Lock lock(manual_lock);
  add_manual(&made->arena);
  ++g_alive;
  return made;
}

void look_at_surplus() ACRE_REQUIRES(manual_lock) {
  g_has_surplus.store(g_spares > kFewSpares + g_alive / kAliveForASpare, std::memory_order_relaxed);
}

ManualArena* take_spare() {
  Lock lock(manual_lock);
  ManualArena* arena = g_spare;
  if (arena == nullptr) return nullptr;
  g_spare = arena->next_spare;
  --g_spares;
  ++g_alive;
  look_at_surplus();
  return arena;
}

void add_spare(ManualArena& arena) ACRE_REQUIRES(manual_lock) {
  arena.next_spare = g_spare;
  g_spare = &arena;
  ++g_spares;
  look_at_surplus();
}

// Takes a spare to retire. Null: there is none too many, or another thread walks over the arenas.
ManualArena* take_surplus() {
  Lock lock(manual_lock);
  if (!has_surplus() || are_walked()) return nullptr;
  ManualArena* arena = g_spare;
  g_spare = arena->next_spare;
  --g_spares;
  look_at_surplus();
  return arena;
}

// Adds the arena's counts to those of all retired arenas.
void count_retired(ManualArena& arena) ACRE_REQUIRES(manual_lock) {
  const PageCounts counts = arena.arena.pages.counts();
  g_retired.pages.add_purges(counts);
  g_retired.pages_lock.add(arena.arena.pages.lock_counts());
  Lock lock(arena.arena.heaps_lock);
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (arena.arena.uses_bin(c)) g_retired.bin_locks[c].add(arena.arena.bin(c).lock_counts());
    for (const Heap* heap = arena.heaps; heap != nullptr; heap = heap->next) {
      g_retired.events[c].add(registry::events_of(*heap, c));
    }
  }
}

void give_back_heaps(ManualArena& arena) {
  Heap* heap;
  {
    Lock lock(arena.arena.heaps_lock);
    heap = arena.heaps;
  }
  while (heap != nullptr) {
    Heap* next = heap->next;
    void* memory = heap->memory();
    if (memory != memory_of_first_heap(arena)) metadata::give_back_pages(memory, Heap::kBytes);
    heap = next;
  }
}

// Returns false if another thread walks over the arenas: the arena stays a spare.
bool retire(ManualArena& arena) {
  PageHeap& pages = arena.arena.pages;
  pages.purge_to(0);
  pages.release_chunks();
  {
    Lock lock(manual_lock);
    if (are_walked()) {
      add_spare(arena);
      return false;
    }
    count_retired(arena);
    remove_manual(&arena.arena);
  }
  pages.give_back_headers();
  give_back_heaps(arena);
  metadata::give_back_pages(Piece::of(arena), Piece::kBytes);
  return true;
}

void forget_lists(Heap& heap) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    if (!heap.use(c).is_used()) continue;
    heap.slots[c] = {};
    heap.use(c).lists = {};
  }
}

// To set a decay time resets the age of pages, so an unchanged time is not set.
void set_decay_times(PageHeap& pages, int64_t dirty_ms, int64_t muzzy_ms) {
  if (pages.dirty_decay_ms() != dirty_ms) pages.set_dirty_decay_ms(dirty_ms);
  if (pages.muzzy_decay_ms() != muzzy_ms) pages.set_muzzy_decay_ms(muzzy_ms);
}

// Afterwards all heaps are idle, with those that a fork left in use by threads that the child does not have.
void forget_all_lists(ManualArena& arena) {
  arena.at_hand.store(nullptr, std::memory_order_relaxed);
  Lock lock(arena.arena.heaps_lock);
  arena.idle = nullptr;
  for (Heap* heap = arena.heaps; heap != nullptr; heap = heap->next) {
    forget_lists(*heap);
    heap->next_fallback = arena.idle;
    arena.idle = heap;
  }
}

void put_away(ManualArena& arena) {
  {
    Lock lock(manual_lock);
    --g_alive;
    add_spare(arena);
  }
  if (has_surplus()) retire_surplus();
}

int64_t chosen(int64_t setting, const int64_t& option) {
  return setting == ArenaSettings::kAsOptions ? relaxed_load(option) : setting;
}

void set_has_source(ManualArena& arena, bool has_one) {
  Lock lock(manual_lock);
  arena.has_source = has_one;
}

// The chunks of an arena that is used again are anonymous memory, which has to be released first.
bool set_source(ManualArena& arena, const ArenaSettings& settings) {
  if (settings.hooks == nullptr && settings.file == nullptr) return true;
  PageHeap& pages = arena.arena.pages;
  pages.release_chunks();
  set_has_source(arena, true);
  pages.set_source(&arena.source);
  if (settings.hooks != nullptr) {
    arena.source.use_hooks(settings.hooks);
  } else if (!arena.source.use_file(*settings.file, settings.on_failure)) {
    pages.set_source(nullptr);
    set_has_source(arena, false);
    return false;
  }
  return true;
}

bool begin_change(ManualArena& arena, ManualArena::State* found) {
  *found = ManualArena::State::kLive;
  return arena.state.compare_exchange_strong(*found, ManualArena::State::kChanging, std::memory_order_acq_rel);
}

void must_begin_change(ManualArena& arena) {
  ManualArena::State found;
  if (begin_change(arena, &found)) return;
  fatal(found == ManualArena::State::kGone ? "an arena that was destroyed is reset or destroyed again"
                                             : "an arena is reset or destroyed while another thread does that");
}

// Null: there is no such arena, or another thread resets or destroys it.
ManualArena* begin_change(size_t number) {
  Lock lock(manual_lock);
  ManualArena* arena = manual_at(number);
  ManualArena::State found;
  return arena != nullptr && begin_change(*arena, &found) ? arena : nullptr;
}

void free_all(ManualArena& arena) {
  forget_all_lists(arena);
  arena.arena.for_each_used_bin([](Bin& bin) { bin.clear(); });
  PageHeap& pages = arena.arena.pages;
  for (Run *run = pages.used_runs(), *next; run != nullptr; run = next) {
    next = run->node.next;
    if (run->ticket != kNoTicket) sampler::freeing_run(run);
    run->kind == RunKind::kSlab ? slab::discard(run) : pages.free(run, true);
  }
  while (Run* run = pages.oldest_huge()) {
    if (run->ticket != kNoTicket) sampler::freeing_run(run);
    huge::free(run);
  }
}

void end_reset(ManualArena& arena) {
  free_all(arena);
  arena.state.store(ManualArena::State::kLive, std::memory_order_release);
}

void end_destroy(ManualArena& arena) {
  free_all(arena);
  arena.life.store(0, std::memory_order_release);
  drop_number(arena);
  if (!arena.source.is_none()) {
    arena.arena.pages.release_chunks();
    arena.arena.pages.set_source(nullptr);
    arena.source.use_none();
    set_has_source(arena, false);
  }
  arena.state.store(ManualArena::State::kGone, std::memory_order_release);
  put_away(arena);
}

}  // namespace

void* memory_of_first_heap(ManualArena& arena) { return Piece::of(arena) + Piece::kHeapAt; }

ManualArena* create(const ArenaSettings& settings) {
  ManualArena* arena = take_spare();
  if (arena == nullptr) arena = make_arena();
  if (arena == nullptr) return nullptr;
  PageHeap& pages = arena->arena.pages;
  pages.set_limit(settings.limit == SIZE_MAX ? SIZE_MAX : settings.limit / kPageBytes);
  pages.set_most_growth(0);
  set_soft_limit(*arena, settings);
  set_decay_times(pages, chosen(settings.dirty_decay_ms, options().dirty_decay_ms),
                  chosen(settings.muzzy_decay_ms, options().muzzy_decay_ms));
  set_name(*arena, settings.name);
  if (!set_source(*arena, settings)) {
    put_away(*arena);
    return nullptr;
  }
  static constinit std::atomic<uint64_t> lives{0};
  arena->life.store(lives.fetch_add(1, std::memory_order_relaxed) + 1, std::memory_order_release);
  arena->state.store(ManualArena::State::kLive, std::memory_order_release);
  return arena;
}

void set_hooks(ManualArena& arena, extent_hooks_t* hooks) {
  if (hooks == default_hooks()) hooks = nullptr;
  if (bytes_in_use(arena) == 0) arena.arena.pages.release_chunks();  // the new hooks provide all memory from now on
  set_has_source(arena, true);
  arena.source.use_hooks(hooks);
  arena.arena.pages.set_source(hooks == nullptr ? nullptr : &arena.source);
}

void set_name(ManualArena& arena, const char* name) {
  Text(arena.name, sizeof arena.name).add(name);
}

void reset(ManualArena& arena) {
  must_begin_change(arena);
  end_reset(arena);
}

void destroy(ManualArena& arena) {
  must_begin_change(arena);
  end_destroy(arena);
}

bool reset_number(size_t number) {
  ManualArena* arena = begin_change(number);
  if (arena != nullptr) end_reset(*arena);
  return arena != nullptr;
}

bool destroy_number(size_t number) {
  ManualArena* arena = begin_change(number);
  if (arena != nullptr) end_destroy(*arena);
  return arena != nullptr;
}

ACRE_COLD void retire_surplus() {
  while (ManualArena* arena = take_surplus()) {
    if (!retire(*arena)) return;
  }
}

const Retired& retired() ACRE_NO_THREAD_SAFETY_ANALYSIS { return g_retired; }

}  // namespace acre::arenas
