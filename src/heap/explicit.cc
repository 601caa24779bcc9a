#include "heap/explicit.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "base/text.h"
#include "heap/fill.h"
#include "heap/free.h"
#include "heap/hooks.h"
#include "heap/large.h"
#include "heap/malloc.h"
#include "heap/registry.h"
#include "heap/scarcity.h"
#include "heap/thread_bytes.h"
#include "heap/watch.h"
#include "pages/huge.h"
#include "pages/limit.h"
#include "pages/metadata.h"
#include "tables/options.h"

namespace acre::arenas {

namespace {

constinit Mutex g_lock{Rank::kExplicit};
constinit ExplicitArena* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;

// By number less explicit_numbers_begin(). Written under the lock.
constinit std::atomic<ExplicitArena*> g_numbered[kMostNumbered];
constinit std::atomic<unsigned> g_numbers{0};  // of which so many were ever given

// --- Heaps ----------------------------------------------------------------------------------------------------

// Its token is its address, which is no thread's, so that no thread takes its runs for its own.
Heap* make_heap(ExplicitArena& arena) {
  Heap* heap = Heap::make();
  if (heap == nullptr) return nullptr;
  heap->begin();
  heap->token = address_of(heap);
  heap->arena = &arena.arena;
  heap->bound = true;
  Lock lock(arena.lock);
  heap->next = arena.heaps;
  arena.heaps = heap;
  return heap;
}

Heap* take_idle(ExplicitArena& arena) {
  if (Heap* heap = arena.at_hand.exchange(nullptr, std::memory_order_acquire)) return heap;
  Lock lock(arena.lock);
  Heap* heap = arena.idle;
  if (heap != nullptr) arena.idle = heap->next_late;
  return heap;
}

Heap* enter(ExplicitArena& arena) {
  Heap* heap = take_idle(arena);
  return heap != nullptr ? heap : make_heap(arena);
}

void leave(ExplicitArena& arena, Heap* heap) {
  Heap* none = nullptr;
  if (arena.at_hand.compare_exchange_strong(none, heap, std::memory_order_release, std::memory_order_relaxed)) return;
  Lock lock(arena.lock);
  heap->next_late = arena.idle;
  arena.idle = heap;
}

// A heap for one allocation: the one that the thread keeps, if any and no other allocation, further up the stack, has it.
class Borrowed {
 public:
  Borrowed(ExplicitArena& arena, Heap** kept) : arena_(arena), kept_(kept) {
    if (kept != nullptr && *kept != nullptr) {
      heap_ = *kept;
      *kept = nullptr;
    } else {
      heap_ = enter(arena);
    }
  }
  ~Borrowed() {
    if (heap_ == nullptr) return;
    if (kept_ != nullptr && *kept_ == nullptr) {
      *kept_ = heap_;
    } else {
      leave(arena_, heap_);
    }
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Heap* heap() const { return heap_; }

 private:
  ExplicitArena& arena_;
  Heap** kept_;
  Heap* heap_;
};

// Memory is refused: gives up what idle heaps and the thread's own have, and waits for pages that are being purged.
void gather(ExplicitArena& arena, Heap** kept = nullptr) {
  if (kept != nullptr && *kept != nullptr) {
    leave(arena, *kept);
    *kept = nullptr;
  }
  Heap* emptied = nullptr;
  while (Heap* heap = take_idle(arena)) {
    empty_heap(*heap);
    heap->next_late = emptied;
    emptied = heap;
  }
  while (emptied != nullptr) {
    Heap* heap = emptied;
    emptied = heap->next_late;
    leave(arena, heap);
  }
  arena.arena.pages.wait_for_purge();
}

// --- Blocks ---------------------------------------------------------------------------------------------------

void* take_small(ExplicitArena& arena, SizeClass c, Heap** kept) {
  const Borrowed borrowed(arena, kept);
  return borrowed.heap() == nullptr ? nullptr : take_block(*borrowed.heap(), c);
}

// A small block that a watcher sees has a run of its own, which keeps the ticket.
ACRE_COLD void* allocate_seen(ExplicitArena& arena, SizeClass c, size_t n, size_t alignment, bool zeroed) {
  Run* run = arena.arena.pages.allocate(pages_for(size_of_class(c)), larger<size_t>(1, alignment / kPageBytes));
  if (run == nullptr) return nullptr;
  void* block = pointer_to(run->base);
  if (zeroed && !run->fresh) memset(block, 0, n);
  if (fill::is_on()) fill::new_bytes(block, zeroed ? n : 0, run->bytes(), run->fresh);
  watch::seen_run(run, size_of_class(c));
  thread_bytes::count_allocated(run->bytes());
  hooks::allocated(block, run->bytes(), n);
  return block;
}

void* allocate_small(ExplicitArena& arena, SizeClass c, size_t n, size_t alignment, bool zeroed,
                     Heap** kept = nullptr) {
  if (ACRE_UNLIKELY(watch::is_on()) && watch::sees(size_of_class(c))) {
    if (void* block = allocate_seen(arena, c, n, alignment, zeroed)) return block;
  }
  void* block = take_small(arena, c, kept);
  if (block == nullptr) {
    gather(arena, kept);
    block = take_small(arena, c, kept);
  }
  if (block == nullptr) return out_of_memory(kSmallMax);
  thread_bytes::count_allocated(size_of_class(c));
  if (zeroed) memset(block, 0, n);
  if (fill::is_on()) fill::new_bytes(block, zeroed ? n : 0, size_of_class(c), false);
  hooks::allocated(block, size_of_class(c), n);
  return block;
}

void* allocate_large(ExplicitArena& arena, size_t n, size_t alignment, bool zeroed) {
  Run* run = large::find_run_in(arena.arena, n, alignment);
  if (run == nullptr) {
    gather(arena);
    if (limit::refuses(n + kHugePageBytes)) gather_memory();  // it may have been the process's limit
    run = large::find_run_in(arena.arena, n, alignment);
  }
  if (run == nullptr) return out_of_memory(n);
  return large::hand_out(run, n, zeroed);
}

// --- Arenas ---------------------------------------------------------------------------------------------------

ExplicitArena* make_arena() {
  registry::start();
  if (count() == 0) registry::birth();  // ticks rely on it that there is one
  void* memory = count() == 0 ? nullptr : metadata::allocate(sizeof(ExplicitArena));
  if (memory == nullptr) return nullptr;
  auto* made = new (memory) ExplicitArena;
  made->arena.is_explicit = true;
  made->arena.index = kNoNumber;
  made->arena.pages.keep_chunks();
  Lock lock(g_lock);
  add_explicit(&made->arena);
  return made;
}

ExplicitArena* take_spare() {
  Lock lock(g_lock);
  ExplicitArena* arena = g_spare;
  if (arena != nullptr) g_spare = arena->next_spare;
  return arena;
}

void forget_lists(Heap& heap) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    heap.slots[c] = {};
    heap.use(c).shelves = {};
  }
}

// To set one forgets when pages became dirty.
void set_decay_times(PageHeap& pages, int64_t dirty_ms, int64_t muzzy_ms) {
  if (pages.dirty_decay_ms() != dirty_ms) pages.set_dirty_decay_ms(dirty_ms);
  if (pages.muzzy_decay_ms() != muzzy_ms) pages.set_muzzy_decay_ms(muzzy_ms);
}

// All heaps are idle then, those too that a fork left in use by threads that are not in the child.
void forget_all_lists(ExplicitArena& arena) {
  arena.at_hand.store(nullptr, std::memory_order_relaxed);
  Lock lock(arena.lock);
  arena.idle = nullptr;
  for (Heap* heap = arena.heaps; heap != nullptr; heap = heap->next) {
    forget_lists(*heap);
    heap->next_late = arena.idle;
    arena.idle = heap;
  }
}

void put_away(ExplicitArena& arena) {
  Lock lock(g_lock);
  arena.next_spare = g_spare;
  g_spare = &arena;
}

int64_t chosen(int64_t setting, const int64_t& option) {
  return setting == ArenaSettings::kAsOptions ? relaxed_load(option) : setting;
}

// What an arena that is used again has from before is anonymous memory, which has to go first.
bool set_source(ExplicitArena& arena, const ArenaSettings& settings) {
  if (settings.hooks == nullptr && settings.file == nullptr) return true;
  PageHeap& pages = arena.arena.pages;
  pages.release_chunks();
  pages.set_source(&arena.source);
  if (settings.hooks != nullptr) {
    arena.source.use_hooks(settings.hooks);
  } else if (!arena.source.use_file(*settings.file, settings.on_failure)) {
    pages.set_source(nullptr);
    return false;
  }
  return true;
}

void take_number(ExplicitArena& arena) {
  Lock lock(g_lock);
  if (arena.arena.index == kNoNumber) return;
  g_numbered[arena.arena.index - explicit_numbers_begin()].store(nullptr, std::memory_order_release);
  arena.arena.index = kNoNumber;
}

}  // namespace

ExplicitArena* create(const ArenaSettings& settings) {
  ExplicitArena* arena = take_spare();
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
  arena->in_use.store(true, std::memory_order_release);
  return arena;
}

void set_hooks(ExplicitArena& arena, extent_hooks_t* hooks) {
  if (hooks == default_hooks()) hooks = nullptr;
  if (bytes_in_use(arena) == 0) arena.arena.pages.release_chunks();  // so that all that is to come is the new hooks'
  arena.source.use_hooks(hooks);
  arena.arena.pages.set_source(hooks == nullptr ? nullptr : &arena.source);
}

void set_name(ExplicitArena& arena, const char* name) {
  Text(arena.name, sizeof arena.name).add(name);
}

void reset(ExplicitArena& arena) {
  if (!arena.in_use.load(std::memory_order_acquire)) fatal("an arena that was destroyed is reset or destroyed again");
  forget_all_lists(arena);
  for (Bin& bin : arena.arena.bins) bin.clear();
  PageHeap& pages = arena.arena.pages;
  for (Run *run = pages.used_runs(), *next; run != nullptr; run = next) {
    next = run->node.next;
    if (run->ticket != kNoTicket) watch::freeing_run(run);
    run->kind == RunKind::kSlab ? slab::discard(run) : pages.free(run, true);
  }
  while (Run* run = pages.oldest_huge()) {
    if (run->ticket != kNoTicket) watch::freeing_run(run);
    huge::free(run);
  }
}

void destroy(ExplicitArena& arena) {
  reset(arena);
  arena.life.fetch_add(1, std::memory_order_release);
  take_number(arena);
  if (!arena.source.is_none()) {
    arena.arena.pages.release_chunks();
    arena.arena.pages.set_source(nullptr);
    arena.source.use_none();
  }
  arena.in_use.store(false, std::memory_order_release);
  put_away(arena);
}

static void* allocate_once(ExplicitArena& arena, size_t n, size_t alignment, bool zeroed) {
  const SizeClass c = class_for_aligned(n, alignment);
  if (c == kSmallClasses) return allocate_large(arena, n, alignment, zeroed);
  return allocate_small(arena, c, n, alignment, zeroed);
}

void* allocate_in(ExplicitArena& arena, size_t n, size_t alignment, bool zeroed) {
  const int saved_errno = errno;
  void* block = allocate_once(arena, n, alignment, zeroed);
  if (ACRE_LIKELY(arena.soft_limit.bytes.load(std::memory_order_relaxed) == SIZE_MAX)) return block;
  if (attend_soft_limit(arena, block == nullptr) && block == nullptr) {
    block = allocate_once(arena, n, alignment, zeroed);
    if (block != nullptr) errno = saved_errno;
  }
  return block;
}

void* allocate_small_in(ExplicitArena& arena, SizeClass c, size_t asked, Heap** kept) {
  const size_t bytes = size_of_class(c);
  return allocate_small(arena, c, asked, bytes & (~bytes + 1), false, kept);
}

void give_back_heap(ExplicitArena& arena, Heap* heap) { leave(arena, heap); }

void* reallocate_in(ExplicitArena& arena, void* p, size_t n) {
  const Found found = find_live_block(p, "acre_heap_realloc");
  if (explicit_arena_of(found) == &arena) return reallocate(p, n);
  void* moved = allocate_in(arena, n, 1, false);
  if (moved == nullptr) return nullptr;
  memcpy(moved, p, smaller(n, block_bytes(found)));
  release(p);
  return moved;
}

size_t bytes_in_use(const ExplicitArena& arena) {
  return (arena.arena.pages.used_pages() + arena.arena.pages.huge_pages()) * kPageBytes;
}

// --- Numbers --------------------------------------------------------------------------------------------------

unsigned numbers() { return explicit_numbers_begin() + g_numbers.load(std::memory_order_acquire); }

unsigned give_number(ExplicitArena& arena) {
  const unsigned begin = explicit_numbers_begin();
  Lock lock(g_lock);
  for (unsigned i = 0; i < kMostNumbered; ++i) {
    if (g_numbered[i].load(std::memory_order_relaxed) != nullptr) continue;
    arena.arena.index = begin + i;
    arena.source.set_number(arena.arena.index);
    g_numbered[i].store(&arena, std::memory_order_release);
    if (i == g_numbers.load(std::memory_order_relaxed)) g_numbers.store(i + 1, std::memory_order_release);
    return arena.arena.index;
  }
  return kNoNumber;
}

bool is_one(size_t number) { return number < count() || explicit_at(number) != nullptr; }

ExplicitArena* explicit_at(size_t number) {
  if (number < explicit_numbers_begin() || number >= numbers()) return nullptr;
  return g_numbered[number - explicit_numbers_begin()].load(std::memory_order_acquire);
}

namespace {

ExplicitArena* first() { return reinterpret_cast<ExplicitArena*>(first_explicit()); }
ExplicitArena* after(ExplicitArena* arena) { return reinterpret_cast<ExplicitArena*>(arena->arena.next_explicit); }

}  // namespace

void for_each_heap(void (*visit)(Heap& heap, void* argument), void* argument) {
  for (ExplicitArena* arena = first(); arena != nullptr; arena = after(arena)) {
    Lock lock(arena->lock);
    for (Heap* heap = arena->heaps; heap != nullptr; heap = heap->next) visit(*heap, argument);
  }
}

// --- Fork -----------------------------------------------------------------------------------------------------

void explicit_before_fork() {
  g_lock.before_fork();
  for (ExplicitArena* arena = first(); arena != nullptr; arena = after(arena)) arena->lock.before_fork();
}
void explicit_sources_before_fork() {
  for (ExplicitArena* arena = first(); arena != nullptr; arena = after(arena)) arena->source.before_fork();
}
void explicit_after_fork_in_parent() {
  for (ExplicitArena* arena = first(); arena != nullptr; arena = after(arena)) {
    arena->source.after_fork_in_parent();
    arena->lock.after_fork_in_parent();
  }
  g_lock.after_fork_in_parent();
}
void explicit_after_fork_in_child() {
  for (ExplicitArena* arena = first(); arena != nullptr; arena = after(arena)) {
    arena->source.after_fork_in_child();
    arena->lock.after_fork_in_child();
    arena->soft_limit.calling.store(false, std::memory_order_relaxed);
  }
  g_lock.after_fork_in_child();
}

}  // namespace acre::arenas
