#include "cache/registry.h"

#include <pthread.h>

#include "cache/allowance.h"
#include "cache/owner_at_work.h"
#include "cache/placement.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "os/os.h"
#include "pages/page_map.h"
#include "tables/options.h"

namespace acre {

namespace registry {

constinit Mutex control_lock{Rank::kControl};
constinit Mutex g_lock{Rank::kRegistry};

namespace {

constinit Heap* g_live ACRE_GUARDED_BY(g_lock) = nullptr;
// Where for_each_in_turn() stopped; null if all heaps behind have ended meanwhile. Without meaning if it came to the end.
constinit Heap* g_next_in_turn ACRE_GUARDED_BY(g_lock) = nullptr;
constinit bool g_is_turn_open ACRE_GUARDED_BY(g_lock) = false;
constinit unsigned g_live_count ACRE_GUARDED_BY(g_lock) = 0;
constinit unsigned g_fallback_count ACRE_GUARDED_BY(g_lock) = 0;  // live fallback heaps
constinit unsigned g_filling_threads ACRE_GUARDED_BY(g_lock) = 0;  // while blocks are filled: those that have allocated
constinit Heap* g_lost ACRE_GUARDED_BY(g_lock) = nullptr;  // heaps of threads that a fork left behind in the parent
// In the child of a fork: the thread that forked, until leave_lost_heaps() has run.
constinit ThreadToken g_forked_thread ACRE_GUARDED_BY(g_lock) = kNoThread;
constinit std::atomic<bool> g_is_child{false};  // of a fork

// Fallback heaps not in use now, through next_fallback. As many exist as threads ever needed one at the same time.
constinit Heap* g_fallback_heaps ACRE_GUARDED_BY(g_lock) = nullptr;

pthread_key_t g_key;

void end_thread_heap(void* argument);

void link_live(Heap* heap) ACRE_REQUIRES(g_lock) {
  heap->prev = nullptr;
  heap->next = g_live;
  if (g_live != nullptr) g_live->prev = heap;
  g_live = heap;
  ++g_live_count;
}

// token: the thread's, or none for a fallback heap. bound_to: null, or the arena that the heap takes runs from.
Heap* make_heap(ThreadToken token, Arena* bound_to = nullptr) {
  const unsigned processor = os::processor();
  Heap* heap = nullptr;
  Arena* const arena = bound_to == nullptr ? placement::join_arena(processor, &heap) : bound_to;
  if (arena == nullptr) return nullptr;
  if (heap == nullptr) heap = Heap::make();
  if (heap == nullptr) {
    Lock lock(g_lock);
    if (bound_to == nullptr) placement::count_thread(*arena, -1, processor);
    return nullptr;
  }
  heap->begin();
  heap->token = token;
  heap->unsampled = !sampler::new_threads();
  heap->arena = arena;
  heap->bound = bound_to != nullptr;
  Lock lock(g_lock);
  link_live(heap);
  if (token == kNoThread) ++g_fallback_count;
  return heap;
}

// Adds nothing where nothing was counted, and so moves no cache line.
ACRE_APART void keep_events_of(const Heap& heap) ACRE_REQUIRES(g_lock) {
  for (SizeClass c = 0; c < kSmallClasses; ++c) {
    const ClassEvents events = events_of(heap, c);
    if (events.any()) heap.arena->ended[c].add(events);
  }
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
    placement::count_thread(*arenas::at(i), -static_cast<int>(arenas::at(i)->threads), 0);
  }
  Heap* heap = g_live;
  g_live = nullptr;
  g_is_turn_open = false;
  g_live_count = 0;
  g_fallback_count = 0;
  size_t allowed_pages = 0;
  while (heap != nullptr) {
    Heap* next = heap->next;
    const bool is_mine = thread_of(heap->token) == g_forked_thread;
    if (is_mine || is_idle_fallback_heap(heap)) {
      link_live(heap);
      g_fallback_count += !is_mine;
      if (!heap->bound) placement::count_thread(*heap->arena, 1, 0);
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
  if (ACRE_LIKELY(!g_is_child.load(std::memory_order_relaxed))) return false;
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

// While blocks are filled, the key has a value without a heap behind it.
constinit char g_filling = 0;

ACRE_COLD void end_filling_thread() {
  bool is_last;
  {
    Lock lock(g_lock);
    is_last = --g_filling_threads == 0;
  }
  if (is_last) on_last_thread();
}

// pthread's destructor for the thread's heap.
ACRE_APART void end_thread_heap(void* argument) {
  if (ACRE_UNLIKELY(argument == &g_filling)) return end_filling_thread();
  Heap* heap = static_cast<Heap*>(argument);
  if (ACRE_UNLIKELY(heap->tags != nullptr)) tags::end_thread(*heap);
  empty_heap(*heap);
  if (ACRE_UNLIKELY(heap->recorder != nullptr)) record::end_thread(*heap);
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
  const unsigned processor = os::processor();
  bool is_last;
  {
    Lock lock(g_lock);
    keep_events_of(*heap);
    heap->end();
    heap->lives.end();
    placement::count_thread(*heap->arena, -1, processor);
    (heap->prev == nullptr ? g_live : heap->prev->next) = heap->next;
    if (heap->next != nullptr) heap->next->prev = heap->prev;
    if (g_next_in_turn == heap) g_next_in_turn = heap->next;
    --g_live_count;
    placement::put_spare(heap, *heap->arena);
    is_last = g_live_count == g_fallback_count;
  }
  if (is_last) on_last_thread();
}

}  // namespace

// While blocks are filled, a thread goes on as if its heap was ended (fill.h). The borrowed heap makes sure of an
// arena. Its end is seen all the same.
ACRE_COLD static void go_without_heap() {
  Heap* heap = enter_fallback_heap();
  if (heap == nullptr) return;
  leave_fallback_heap(heap);
  t_heap = const_cast<HotHeap*>(&kTerminatedHeap);
  if (pthread_setspecific(g_key, &g_filling) != 0) return;
  Lock lock(g_lock);
  ++g_filling_threads;
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
  return fill::is_on() ? nullptr : static_cast<Heap*>(pthread_getspecific(g_key));
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

ACRE_APART Heap* enter_fallback_heap(Arena* bound_to) {
  if (Heap* heap = take_fallback_heap(bound_to)) return heap;
  // The heap's token is its address, which is no thread's token, so that no thread takes the heap's runs for its own.
  Heap* heap = make_heap(kNoThread, bound_to);
  if (heap != nullptr) heap->token = address_of(heap);
  return heap;
}

ACRE_APART void leave_fallback_heap(Heap* heap) {
  Lock lock(g_lock);
  heap->next_fallback = g_fallback_heaps;
  g_fallback_heaps = heap;
}

// The heap's counts so far stay with the arena that it leaves: they are subtracted from the other arena's.
ACRE_COLD void move_to_arena(Heap& heap, Arena* arena) {
  const unsigned processor = os::processor();
  Lock lock(g_lock);
  keep_events_of(heap);
  for (SizeClass c = 0; c < kSmallClasses; ++c) arena->ended[c].subtract(events_of(heap, c));
  placement::count_thread(*heap.arena, -1, processor);
  placement::count_thread(*arena, 1, processor);
  heap.arena = arena;
}

ACRE_APART void for_each(void (*visit)(Heap& heap, void* argument), void* argument, void (*at_last)(void* argument)) {
  Lock lock(g_lock);
  if (ACRE_UNLIKELY(g_forked_thread != kNoThread)) leave_lost_heaps();
  for (Heap* heap = g_live; heap != nullptr && g_forked_thread == kNoThread; heap = heap->next) visit(*heap, argument);
  if (at_last != nullptr) at_last(argument);
}

ACRE_APART bool for_each_in_turn(bool (*visit)(Heap& heap, void* argument), void* argument) {
  Lock lock(g_lock);
  if (ACRE_UNLIKELY(g_forked_thread != kNoThread)) leave_lost_heaps();
  Heap* heap = g_is_turn_open ? g_next_in_turn : g_live;
  while (heap != nullptr && g_forked_thread == kNoThread && visit(*heap, argument)) heap = heap->next;
  g_next_in_turn = heap;
  g_is_turn_open = heap != nullptr;
  return !g_is_turn_open;
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
  if (stage == ForkStage::kInChild) {
    g_forked_thread = this_thread();
    g_is_child.store(true, std::memory_order_relaxed);
    g_filling_threads = pthread_getspecific(g_key) == &g_filling;
  }
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
