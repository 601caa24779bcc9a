#include "cache/allowance.h"
#include "cache/registry.h"

#include <pthread.h>

#include "cache/owner_at_work.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/page_map.h"
#include "tables/options.h"

namespace acre {

namespace registry {

constinit Mutex control_lock{Rank::kControl};

namespace {

constinit Mutex g_lock{Rank::kRegistry};
constinit Heap* g_live ACRE_GUARDED_BY(g_lock) = nullptr;
constinit Heap* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;
constinit unsigned g_live_count ACRE_GUARDED_BY(g_lock) = 0;
constinit unsigned g_fallback_count ACRE_GUARDED_BY(g_lock) = 0;  // live fallback heaps
constinit Heap* g_lost ACRE_GUARDED_BY(g_lock) = nullptr;  // heaps of threads that a fork left behind in the parent
// In the child of a fork: the thread that forked, until leave_lost_heaps() has run.
constinit ThreadToken g_forked_thread ACRE_GUARDED_BY(g_lock) = kNoThread;
constinit Arena* g_spare_arena ACRE_GUARDED_BY(g_lock) = nullptr;

// Fallback heaps not in use now, through next_fallback. As many exist as threads ever needed one at the same time.
constinit Heap* g_fallback_heaps ACRE_GUARDED_BY(g_lock) = nullptr;

pthread_key_t g_key;

void end_thread_heap(void* argument);

// The arena with the fewest threads. Null: a new one is wanted, for which memory has to be had first. is_full: there
// may be no more of them.
Arena* least_loaded(bool is_full) ACRE_REQUIRES(g_lock) {
  Arena* least = nullptr;
  for (unsigned i = 0; i < arenas::count(); ++i) {
    Arena* arena = arenas::at(i);
    if (least == nullptr || arena->threads < least->threads) least = arena;
  }
  if (least != nullptr && (least->threads == 0 || is_full)) return least;
  if (g_spare_arena != nullptr) {
    Arena* made = g_spare_arena;
    g_spare_arena = nullptr;
    arenas::install(made);
    return made;
  }
  return nullptr;
}

Arena* join_arena() {
  for (;;) {
    const unsigned count = arenas::count();
    const bool is_full = count != 0 && arenas::is_full();  // may ask the system, so the lock is not held
    {
      Lock lock(g_lock);
      if (arenas::count() != count) continue;  // another thread has added an arena
      if (Arena* arena = least_loaded(is_full)) {
        arenas::count_threads(*arena, 1);
        return arena;
      }
    }
    Arena* made = arenas::make();
    Lock lock(g_lock);
    if (made == nullptr) {  // any arena will do
      if (arenas::count() == 0) return nullptr;
      arenas::count_threads(*arenas::at(0), 1);
      return arenas::at(0);
    }
    g_spare_arena = made;  // an arena that another thread has put there is lost: some KiB
  }
}

Heap* take_spare() {
  Lock lock(g_lock);
  Heap* heap = g_spare;
  if (heap != nullptr) g_spare = heap->next;
  return heap;
}

void link_live(Heap* heap) ACRE_REQUIRES(g_lock) {
  heap->prev = nullptr;
  heap->next = g_live;
  if (g_live != nullptr) g_live->prev = heap;
  g_live = heap;
  ++g_live_count;
}

// token: the thread's, or none for a fallback heap. bound_to: null, or the arena that the heap takes runs from.
Heap* make_heap(ThreadToken token, Arena* bound_to = nullptr) {
  Heap* heap = take_spare();
  if (heap == nullptr) heap = Heap::make();
  if (heap == nullptr) return nullptr;
  heap->begin();
  heap->token = token;
  heap->unsampled = !sampler::new_threads();
  heap->arena = bound_to == nullptr ? join_arena() : bound_to;
  heap->bound = bound_to != nullptr;
  Lock lock(g_lock);
  if (heap->arena == nullptr) {
    heap->next = g_spare;
    g_spare = heap;
    return nullptr;
  }
  link_live(heap);
  if (token == kNoThread) ++g_fallback_count;
  return heap;
}

void keep_events_of(const Heap& heap) ACRE_REQUIRES(g_lock) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) heap.arena->ended[c].add(events_of(heap, c));
}

bool is_idle_fallback_heap(const Heap* heap) ACRE_REQUIRES(g_lock) {
  for (const Heap* late = g_fallback_heaps; late != nullptr; late = late->next_fallback) {
    if (late == heap) return true;
  }
  return false;
}

// In the child of a fork: moves the heaps of threads that do not exist here to g_lost. They may have been in the middle
// of a change, so the runs that they own stay as they are: at most their current runs and what the shared bound allows.
ACRE_COLD void leave_lost_heaps() ACRE_REQUIRES(g_lock) {
  for (unsigned i = 0; i < arenas::count(); ++i) {
    arenas::count_threads(*arenas::at(i), -static_cast<int>(arenas::at(i)->threads));
  }
  Heap* heap = g_live;
  g_live = nullptr;
  g_live_count = 0;
  g_fallback_count = 0;
  size_t allowed_pages = 0;
  while (heap != nullptr) {
    Heap* next = heap->next;
    const bool is_mine = thread_of(heap->token) == g_forked_thread;
    if (is_mine || is_idle_fallback_heap(heap)) {
      link_live(heap);
      g_fallback_count += !is_mine;
      if (!heap->bound) arenas::count_threads(*heap->arena, 1);
      allowed_pages += heap->allowed_pages;
      heap->reclaim.store(Reclaim::kNone);
      if (is_mine) heap->thread = static_cast<uint32_t>(os::thread_number());
    } else {
      keep_events_of(*heap);
      heap->lives.end();  // its full runs are for others; those that it owns keep its token
      heap->next = g_lost;
      g_lost = heap;
    }
    heap = next;
  }
  reset_shared_allowance(allowed_pages);
  g_forked_thread = kNoThread;
}

// In the child of a fork, runs of the parent's other threads still name their owners. A new thread may get the memory
// of such a thread, and so its token, but must not take that thread's runs for its own. True for such a token, once.
bool is_token_of_lost_heap(ThreadToken token) {
  Lock lock(g_lock);
  if (ACRE_UNLIKELY(g_forked_thread != kNoThread)) leave_lost_heaps();
  for (Heap* heap = g_lost; heap != nullptr; heap = heap->next) {
    if (thread_of(heap->token) != token) continue;
    heap->token = kNoThread;
    return true;
  }
  return false;
}

ACRE_COLD void disown_runs_of(ThreadToken token) {
  g_page_map.for_each_run([token](Run* run) {
    if (run->kind != RunKind::kSlab || thread_of(relaxed_load(run->slab->owner)) != token) return;
    slab::disown(run->slab);
  });
}

// pthread's destructor for the thread's heap.
ACRE_APART void end_thread_heap(void* argument) {
  Heap* heap = static_cast<Heap*>(argument);
  if (ACRE_UNLIKELY(heap->tags != nullptr)) tags::end_thread(*heap);
  empty_heap(*heap);
  if (ACRE_UNLIKELY(heap->recorder != nullptr)) record::end_thread(*heap);
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
  {
    Lock lock(g_lock);
    keep_events_of(*heap);
    heap->end();
    heap->lives.end();
    arenas::count_threads(*heap->arena, -1);
    (heap->prev == nullptr ? g_live : heap->prev->next) = heap->next;
    if (heap->next != nullptr) heap->next->prev = heap->prev;
    --g_live_count;
    heap->next = g_spare;
    g_spare = heap;
  }
  if (!has_threads()) on_last_thread();
}

}  // namespace

// While blocks are filled, a thread goes on as if its heap was ended (fill.h). The borrowed heap makes sure of an
// arena.
ACRE_COLD static void go_without_heap() {
  Heap* heap = enter_fallback_heap();
  if (heap == nullptr) return;
  leave_fallback_heap(heap);
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
}

Heap* initialize_thread() {
  start_process();
  if (fill::is_on()) {
    go_without_heap();
    return nullptr;
  }
  if (is_token_of_lost_heap(this_thread())) disown_runs_of(this_thread());
  Heap* heap = make_heap(this_thread());
  if (heap == nullptr) return nullptr;
  heap->thread = static_cast<uint32_t>(os::thread_number());
  t_heap = heap;  // before anything that may allocate
  if (pthread_setspecific(g_key, heap) != 0) {  // out of memory: the heap would outlive its thread
    end_thread_heap(heap);
    t_heap = const_cast<HotHeap*>(&kUninitializedHeap);
    return nullptr;
  }
  if (ACRE_UNLIKELY(hooks::is_on())) heap->set_observed(true);
  return heap;
}

void make_thread_key() {
  if (pthread_key_create(&g_key, end_thread_heap) != 0) fatal("no thread key left at the first allocation");
}

Heap* heap_of_thread() {
  start_process();
  return static_cast<Heap*>(pthread_getspecific(g_key));
}

ACRE_COLD void put_heap_aside() {
  Heap* heap = t_heap == &kUninitializedHeap ? initialize_thread() : heap_if_any();
  if (heap == nullptr) return;
  thread_bytes::look(*heap);
  empty_heap(*heap);
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
}

ACRE_COLD void take_heap_back() {
  if (Heap* heap = heap_of_thread()) t_heap = heap;
}

// Bound heaps are few, and seldom needed: one list serves both kinds.
static Heap* take_fallback_heap(const Arena* bound_to) {
  Lock lock(g_lock);
  for (Heap** at = &g_fallback_heaps; Heap* heap = *at; at = &heap->next_fallback) {
    if (heap->bound != (bound_to != nullptr) || (heap->bound && heap->arena != bound_to)) continue;
    *at = heap->next_fallback;
    return heap;
  }
  return nullptr;
}

Heap* enter_fallback_heap(Arena* bound_to) {
  if (Heap* heap = take_fallback_heap(bound_to)) return heap;
  // The heap's token is its address, which is no thread's token, so that no thread takes the heap's runs for its own.
  Heap* heap = make_heap(kNoThread, bound_to);
  if (heap != nullptr) heap->token = address_of(heap);
  return heap;
}

void leave_fallback_heap(Heap* heap) {
  Lock lock(g_lock);
  heap->next_fallback = g_fallback_heaps;
  g_fallback_heaps = heap;
}

ACRE_COLD Arena* arena_at(unsigned index) {
  start_process();
  if (index >= arenas::most()) return nullptr;
  while (index >= arenas::count()) {
    Arena* made = arenas::make();
    if (made == nullptr) return nullptr;
    Lock lock(g_lock);
    if (index >= arenas::count()) {
      arenas::install(made);
    } else {
      g_spare_arena = made;  // another thread has made the last one that is needed
    }
  }
  return arenas::at(index);
}

// The heap's counts so far stay with the arena that it leaves: they are subtracted from the other arena's.
ACRE_COLD void move_to_arena(Heap& heap, Arena* arena) {
  Lock lock(g_lock);
  keep_events_of(heap);
  for (SizeClass c = 0; c < kSmallClasses; ++c) arena->ended[c].subtract(events_of(heap, c));
  arenas::count_threads(*heap.arena, -1);
  arenas::count_threads(*arena, 1);
  heap.arena = arena;
}

void for_each(void (*visit)(Heap& heap, void* argument), void* argument, void (*at_last)(void* argument)) {
  Lock lock(g_lock);
  if (ACRE_UNLIKELY(g_forked_thread != kNoThread)) leave_lost_heaps();
  for (Heap* heap = g_live; heap != nullptr && g_forked_thread == kNoThread; heap = heap->next) visit(*heap, argument);
  if (at_last != nullptr) at_last(argument);
}

ClassEvents events_of(const Heap& heap, SizeClass c) {
  const BlockCounts& counts = heap.use(c).blocks;
  const uint64_t listed = racy_load(counts.recycled) + racy_load(counts.listed);
  return {racy_load(counts.refills), racy_load(counts.new_runs), racy_load(counts.adoptions), heap.outbox().sent(c),
          listed};
}

ACRE_COLD LockCounts lock_counts() { return g_lock.counts(); }

static void wait_for_reclaims() { Lock lock(g_lock); }

unsigned live_heaps() {
  Lock lock(g_lock);
  return g_live_count;
}

bool has_threads() {
  Lock lock(g_lock);
  return g_live_count != g_fallback_count;
}

// If the forking thread was interrupted with the lock held, it may be walking the list: leave_lost_heaps() runs later.
ACRE_COLD void at_fork(ForkStage stage) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  if (stage == ForkStage::kInChild) g_forked_thread = this_thread();
  const bool is_whole = g_lock.at_fork(stage);
  if (stage == ForkStage::kInChild && is_whole) leave_lost_heaps();
}

}  // namespace registry

ACRE_COLD void OwnerAtWork::refuse_reclaim(Heap& heap) {
  for (Reclaim seen = Reclaim::kAnnounced; !heap.reclaim.compare_exchange_strong(seen, Reclaim::kNone);
       seen = Reclaim::kAnnounced) {
    if (seen == Reclaim::kNone) return;
    registry::wait_for_reclaims();
    if (ACRE_UNLIKELY(is_ending())) return;  // the reclaiming thread may be in fatal(), which does not return
  }
}

}  // namespace acre
