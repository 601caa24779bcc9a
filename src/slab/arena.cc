#include "slab/arena.h"

#include <new>

#include "os/cgroup.h"
#include "os/os.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "tables/options.h"

namespace acre::arenas {

constinit Mutex manual_lock{Rank::kManual};

namespace {

constexpr unsigned kPerProcessor = 4;

constinit std::atomic<Arena*> g_arenas[kMostArenas];
__attribute__((section(".bss.seldom"))) constinit std::atomic<Arena*> g_of_use[kUses];
constinit std::atomic<unsigned> g_of_class_count{0};
constinit std::atomic<unsigned> g_count{0};
constinit std::atomic<Arena*> g_manual{nullptr};
constinit unsigned g_walks ACRE_GUARDED_BY(manual_lock) = 0;
constinit std::atomic<Arena*> g_next_to_decay{nullptr};
constinit std::atomic<unsigned> g_most{0};                    // 0: not computed yet
constinit std::atomic<unsigned> g_least{0};                   // so many are allowed in any case; 0: the same
constinit std::atomic<unsigned> g_manual_numbers_begin{0};  // 0: the same

// Pages of a thread's current runs that may be untouched: it has some sixty current runs, which are carved bit by bit.
constexpr size_t kPerhapsUntouched = 256;

// Of which threads are bound to one. The hardened mode has some for classes, too.
unsigned most_for_threads() { return options().hardened ? kMostArenas - kUses : kMostArenas; }

// On one processor, one arena is enough.
unsigned wanted(unsigned processors) {
  if (options().arenas != 0) return smaller(static_cast<unsigned>(options().arenas), most_for_threads());
  return processors == 1 ? 1 : smaller(kPerProcessor * processors, most_for_threads());
}

// A quota bounds how much work is done, not how many threads do it.
unsigned wanted_under_quota() {
  const unsigned processors = os::processors();
  if (processors == 1 || options().arenas != 0 || !relaxed_load(options().cgroup)) return wanted(processors);
  const unsigned quota = os::cgroup_processors();
  if (quota == 0 || quota >= processors) return wanted(processors);
  return smaller(kPerProcessor * quota, most_for_threads());
}

}  // namespace

unsigned count() { return g_count.load(std::memory_order_acquire); }

Arena* at(unsigned index) { return g_arenas[index].load(std::memory_order_relaxed); }

void count_threads(Arena& arena, int more) {
  const unsigned threads = arena.threads + static_cast<unsigned>(more);
  relaxed_store(arena.threads, threads);
  arena.pages.set_perhaps_untouched(threads * kPerhapsUntouched);
}

unsigned most() {
  if (g_most.load(std::memory_order_relaxed) == 0) look_at_quota();
  return larger(g_most.load(std::memory_order_relaxed), count());
}

// Most programs have few threads, for which no file is read.
bool is_full() {
  unsigned least = g_least.load(std::memory_order_relaxed);
  if (least == 0) {
    least = smaller(wanted(os::processors()), kPerProcessor);  // what a quota of one processor allows
    g_least.store(least, std::memory_order_relaxed);
  }
  const unsigned made = count() - g_of_class_count.load(std::memory_order_relaxed);
  if (made < smaller(least, manual_numbers_begin())) return false;
  if (g_most.load(std::memory_order_relaxed) == 0) look_at_quota();
  return made >= g_most.load(std::memory_order_relaxed);
}

ACRE_COLD void look_at_quota() {
  g_most.store(smaller(wanted_under_quota(), manual_numbers_begin()), std::memory_order_relaxed);
}

unsigned manual_numbers_begin() {
  unsigned begin = g_manual_numbers_begin.load(std::memory_order_relaxed);
  if (begin != 0) return begin;
  const unsigned worked_out = larger(wanted(os::processors()) + (options().hardened ? kUses : 0), count());
  return g_manual_numbers_begin.compare_exchange_strong(begin, worked_out) ? worked_out : begin;
}

Arena* make() {
  constexpr size_t kBytes = align_up(sizeof(Arena), kCacheLine);
  char* memory = static_cast<char*>(metadata::allocate(kBytes + Arena::kEndedBytes));
  if (memory == nullptr) return nullptr;
  Arena* arena = new (memory) Arena;
  arena->ended = reinterpret_cast<ClassEvents*>(memory + kBytes);  // zeroed memory
  for (auto& bins : arena->used_bins) bins.store(~uint64_t{0}, std::memory_order_relaxed);
  arena->made_ms = os::now_ms();
  arena->pages.set_dirty_decay_ms(relaxed_load(options().dirty_decay_ms));
  arena->pages.set_muzzy_decay_ms(relaxed_load(options().muzzy_decay_ms));
  return arena;
}

void install(Arena* arena) {
  unsigned index = count();
  arena->index = index;
  g_arenas[index].store(arena, std::memory_order_relaxed);
  g_count.store(index + 1, std::memory_order_release);
}

Arena* of_use(unsigned use) { return g_of_use[use].load(std::memory_order_acquire); }

ACRE_COLD void install_for(unsigned use, Arena* arena) {
  arena->is_of_class = true;
  arena->is_of_pointers = use >= kOfPointers;
  g_of_class_count.fetch_add(1, std::memory_order_relaxed);
  install(arena);
  g_of_use[use].store(arena, std::memory_order_release);
}

Arena* first_manual() { return g_manual.load(std::memory_order_acquire); }

ACRE_COLD void add_manual(Arena* arena) {
  Arena* first = g_manual.load(std::memory_order_relaxed);
  arena->next_manual = first;
  if (first != nullptr) first->previous_manual = arena;
  g_manual.store(arena, std::memory_order_release);
}

ACRE_COLD void remove_manual(Arena* arena) {
  Arena* const next = arena->next_manual;
  if (next != nullptr) next->previous_manual = arena->previous_manual;
  if (arena->previous_manual == nullptr) {
    g_manual.store(next, std::memory_order_release);
  } else {
    arena->previous_manual->next_manual = next;
  }
  if (g_next_to_decay.load(std::memory_order_relaxed) == arena) g_next_to_decay.store(next, std::memory_order_release);
}

ACRE_COLD Walk::Walk() {
  Lock lock(manual_lock);
  ++g_walks;
}
ACRE_COLD Walk::~Walk() {
  Lock lock(manual_lock);
  if (g_walks != 0) --g_walks;  // 0: in the child of a fork that the program made in the middle of the walk
}
bool are_walked() { return g_walks != 0; }

ACRE_COLD static void decay_by_turns(uint64_t now_ms) {
  const Walk walk;
  Arena* arena = g_next_to_decay.load(std::memory_order_acquire);
  if (arena == nullptr) arena = first_manual();
  if (arena == nullptr) return;
  g_next_to_decay.store(arena->next_manual, std::memory_order_release);
  arena->pages.decay(now_ms);
}

void decay_a_manual(uint64_t now_ms) {
  if (ACRE_UNLIKELY(first_manual() != nullptr)) decay_by_turns(now_ms);
}

size_t used_pages() {
  size_t pages = 0;
  for (unsigned i = 0; i < count(); ++i) pages += at(i)->pages.used_pages();
  return pages;
}

size_t dirty_pages() {
  size_t pages = 0;
  for_each([&](const Arena& arena) { pages += arena.pages.dirty_pages() + arena.pages.muzzy_pages(); });
  return pages;
}

// The youngest arenas come first: the next large block can use dirty pages of the first ones.
void grew_by(size_t pages) {
  size_t dirty = 0;
  for (unsigned i = 0; limit::g_line.purge_for_growth.depends_on_dirty(pages) && i < count(); ++i) {
    dirty += at(i)->pages.dirty_pages() + at(i)->pages.muzzy_pages();
  }
  size_t going = limit::g_line.purge_for_growth.pages_to_purge(pages, limit::held() >> kPageShift, dirty);
  for (unsigned i = count(); i-- != 0 && going != 0;) {
    if (at(i)->pages.is_plain()) going -= smaller(going, at(i)->pages.purge_for_growth(going));
  }
}

ACRE_COLD size_t purge_all(size_t keep) {
  size_t purged = 0;
  for_each([&](Arena& arena) {
    purged += arena.pages.purge_to(keep);
    keep -= smaller(keep, arena.pages.dirty_pages() + arena.pages.muzzy_pages());
  });
  return purged;
}

// The caller holds all locks of lower ranks, so nobody changes the list of arenas, or which bins were used.
ACRE_COLD void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  const auto for_each_arena = [](auto action) {
    for (unsigned i = 0; i < count(); ++i) action(*at(i));
    for (Arena* arena = first_manual(); arena != nullptr; arena = arena->next_manual) action(*arena);
  };
  for_each_arena([stage](Arena& arena) { arena.for_each_used_bin([stage](Bin& bin) { bin.at_fork(stage); }); });
  for_each_arena([stage](Arena& arena) { arena.pages.at_fork(stage); });
  if (stage == ForkStage::kInChild) g_walks = 0;
}

}  // namespace acre::arenas

namespace acre {

ACRE_COLD void Arena::add_bin(SizeClass c) {
  Lock lock(heaps_lock);
  used_bins[c / 64].fetch_or(uint64_t{1} << (c % 64), std::memory_order_relaxed);
}

}  // namespace acre
