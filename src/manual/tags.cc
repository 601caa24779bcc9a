#include "manual/tags.h"

#include <errno.h>
#include <string.h>

#include <new>

#include "cache/free.h"
#include "cache/large.h"
#include "cache/malloc.h"
#include "cache/registry.h"
#include "manual/manual_arena.h"
#include "pages/metadata.h"
#include "slab/labels.h"

namespace acre {

struct ThreadTags {
  static constexpr uint32_t kMostNested = 64;

  Tag* current = nullptr;
  Heap* kept = nullptr;     // a heap of the tags' arena, while the stack is not empty
  uint32_t depth = 0;       // may exceed kMostNested: tags pushed there have no effect
  bool in_callback = false;
  ThreadTags* next = nullptr;
  Tag* stack[kMostNested] = {};
};

namespace tags {

namespace {

constinit Mutex g_lock{Rank::kTags};
constinit ThreadTags* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;
constinit std::atomic<ManualArena*> g_arena{nullptr};  // all tags share it

// --- The tag in force -----------------------------------------------------------------------------------------

bool make_arena() {
  if (g_arena.load(std::memory_order_acquire) != nullptr) return true;
  arenas::ArenaSettings settings;
  settings.name = "tags";
  ManualArena* made = arenas::create(settings);
  if (made == nullptr) return false;
  made->arena.is_labelled = true;
  ManualArena* none = nullptr;
  if (g_arena.compare_exchange_strong(none, made)) return true;
  made->arena.is_labelled = false;
  arenas::destroy(*made);
  return true;
}

ThreadTags* tags_of(Heap& heap) {
  if (heap.tags != nullptr) return heap.tags;
  if (!make_arena()) return nullptr;
  void* memory = nullptr;
  {
    Lock lock(g_lock);
    memory = g_spare;
    if (g_spare != nullptr) g_spare = g_spare->next;
  }
  if (memory == nullptr) memory = metadata::allocate(sizeof(ThreadTags));
  if (memory != nullptr) heap.tags = new (memory) ThreadTags;
  return heap.tags;
}

void set_current(Heap& heap, Tag* tag) {
  heap.tags->current = tag;
  heap.set_diverted(tag != nullptr || heap.manual != nullptr);
}

void put_out_of_force(Tag* tag) {
  if (tag != nullptr) tag->in_force.fetch_sub(1, std::memory_order_release);
}

void give_heap_back(ThreadTags& mine) {
  if (mine.kept == nullptr) return;
  arenas::give_back_heap(*g_arena.load(std::memory_order_acquire), mine.kept);
  mine.kept = nullptr;
}

// As enter(), with the tag counted as in force already.
int enter_counted(Tag* tag, int error) {
  Heap* heap = registry::heap_of_caller();
  ThreadTags* mine = heap == nullptr ? nullptr : tags_of(*heap);
  if (mine == nullptr) {
    put_out_of_force(tag);
    return error != 0 ? error : heap == nullptr && t_heap == &kTerminatedHeap ? ENOTSUP : ENOMEM;
  }
  const uint32_t depth = mine->depth++;
  if (error == 0 && depth >= ThreadTags::kMostNested) error = EAGAIN;
  if (depth < ThreadTags::kMostNested) {
    if (error != 0 && mine->current != nullptr) mine->current->in_force.fetch_add(1, std::memory_order_relaxed);
    mine->stack[depth] = error != 0 ? mine->current : tag;
    if (error == 0) set_current(*heap, tag);
  } else {
    put_out_of_force(tag);
  }
  return error;
}

ThreadTags* tags_of_caller() {
  Heap* heap = heap_if_any();
  if (heap == nullptr && t_heap == &kTerminatedHeap) heap = registry::heap_of_thread();
  return heap == nullptr ? nullptr : heap->tags;
}

}  // namespace

int push(const char* name) {
  const int saved = errno;
  Tag* tag = find(name, 1);
  const int error = tag == nullptr ? errno : 0;
  errno = saved;
  return enter_counted(tag, error);
}

int enter(Tag* tag) {
  if (tag != nullptr) tag->in_force.fetch_add(1, std::memory_order_relaxed);
  return enter_counted(tag, 0);
}

int pop() {
  Heap* heap = registry::heap_of_caller();
  ThreadTags* mine = heap == nullptr ? nullptr : heap->tags;
  if (mine == nullptr || mine->depth == 0) return EINVAL;
  const uint32_t depth = --mine->depth;
  if (depth >= ThreadTags::kMostNested) return 0;
  set_current(*heap, depth == 0 ? nullptr : mine->stack[depth - 1]);
  put_out_of_force(mine->stack[depth]);
  if (depth == 0) give_heap_back(*mine);
  return 0;
}

Tag* in_force() {
  ThreadTags* mine = tags_of_caller();
  return mine == nullptr ? nullptr : mine->current;
}

void end_thread(Heap& heap) {
  ThreadTags* mine = heap.tags;
  heap.set_diverted(false);
  for (uint32_t i = 0; i < smaller(mine->depth, ThreadTags::kMostNested); ++i) put_out_of_force(mine->stack[i]);
  give_heap_back(*mine);
  heap.tags = nullptr;
  Lock lock(g_lock);
  mine->next = g_spare;
  g_spare = mine;
}

Tag* of_label(const Slab* slab, const void* p) { return at(labels::of(slab, p)); }

// --- Limits ---------------------------------------------------------------------------------------------------

namespace {

// Calls the program's function, if any. Returns true if it has freed memory or raised the limit.
bool ask(Tag& tag, size_t bytes) {
  ThreadTags* mine = tags_of_caller();
  if (mine == nullptr || mine->in_callback || Mutex::this_thread_forks()) return false;
  const Asked asked = callback_of(tag);
  if (asked.callback == nullptr) return false;
  const int saved_errno = errno;
  mine->in_callback = true;
  const int again = asked.callback(reinterpret_cast<acre_tag_handle*>(&tag), bytes, asked.argument);
  mine->in_callback = false;
  errno = saved_errno;
  return again != 0;
}

}  // namespace

// `freed` only grows, so a sum within the limit when it was read is still within it when `allocated` changes.
bool charge(Tag& tag, size_t bytes) {
  const uint64_t limit = tag.limit.load(std::memory_order_relaxed);
  uint64_t allocated = tag.allocated.load(std::memory_order_acquire);
  if (limit == UINT64_MAX) {
    tag.allocated.fetch_add(bytes, std::memory_order_relaxed);
  } else {
    do {
      const auto live = static_cast<int64_t>(allocated - tag.freed.load(std::memory_order_relaxed));
      if (bytes > limit || live > static_cast<int64_t>(smaller<uint64_t>(limit - bytes, INT64_MAX))) return false;
    } while (!tag.allocated.compare_exchange_weak(allocated, allocated + bytes, std::memory_order_acquire));
  }
  return true;
}

void note_peak(Tag& tag) {
  const uint64_t allocated = tag.allocated.load(std::memory_order_relaxed);
  const auto live = static_cast<int64_t>(allocated - tag.freed.load(std::memory_order_relaxed));
  uint64_t peak = tag.peak.load(std::memory_order_relaxed);
  while (live > static_cast<int64_t>(peak) &&
         !tag.peak.compare_exchange_weak(peak, static_cast<uint64_t>(live), std::memory_order_relaxed)) {
  }
}

void discharge(Tag& tag, size_t bytes) { tag.allocated.fetch_sub(bytes, std::memory_order_relaxed); }
void count_freed(Tag& tag, size_t bytes) { tag.freed.fetch_add(bytes, std::memory_order_release); }

bool charge_asking(Tag& tag, size_t bytes) {
  while (!charge(tag, bytes)) {
    if (ask(tag, bytes)) continue;
    tag.refused.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  return true;
}

// --- Blocks ---------------------------------------------------------------------------------------------------

static void* allocate_uncharged(SizeClass c, size_t asked, bool may_be_seen) {
  ThreadTags* mine = tags_of_caller();
  Heap** kept = mine == nullptr || mine->depth == 0 ? nullptr : &mine->kept;
  return arenas::allocate_small_in(*g_arena.load(std::memory_order_acquire), c, asked, kept, may_be_seen);
}

void* allocate(Tag& tag, SizeClass c, size_t asked) {
  if (!charge_asking(tag, size_of_class(c))) return out_of_memory(kSmallMax);
  void* block = allocate_uncharged(c, asked, true);
  Found found = block == nullptr ? Found() : find_block(block);
  // A sampled block has whole pages. If the limit does not allow for them, the block is not sampled.
  if (ACRE_UNLIKELY(found.run != nullptr) && !charge(tag, found.run->bytes() - size_of_class(c))) {
    release(block);
    block = allocate_uncharged(c, asked, false);
    found = block == nullptr ? Found() : find_block(block);
  }
  if (block == nullptr) {
    discharge(tag, size_of_class(c));
    return nullptr;
  }
  if (ACRE_LIKELY(found.slab != nullptr)) {
    labels::of(found.slab, block) = tag.number;
  } else {
    found.run->tag = &tag;
  }
  note_peak(tag);
  return block;
}

// A memory source may return more bytes, by its own granularity.
static void* allocate_large(Tag& tag, size_t n, size_t alignment, bool zeroed) {
  const size_t bytes = large::block_bytes(n, alignment);
  if (bytes == 0 || !charge_asking(tag, bytes)) return out_of_memory(n);
  Run* run = large::find_run(n, alignment);
  if (run == nullptr) {
    discharge(tag, bytes);
  } else {
    tag.allocated.fetch_add(run->bytes() - bytes, std::memory_order_relaxed);
    run->tag = &tag;
    note_peak(tag);
  }
  return large::hand_out(run, n, zeroed);
}

void* allocate(Tag& tag, size_t n, size_t alignment, bool zeroed) {
  const SizeClass c = class_for_aligned(n, alignment);
  if (c == kSmallClasses) return allocate_large(tag, n, alignment, zeroed);
  void* block = allocate(tag, c, n);
  if (zeroed && block != nullptr) memset(block, 0, acre::block_bytes(find_block(block)));
  return block;
}

void freeing(const Slab* slab, const void* block) {
  count_freed(*of_label(slab, block), slab->block_bytes);
}

// --- Fork -----------------------------------------------------------------------------------------------------

// In the child only those tags are in force that the calling thread has.
void at_fork(ForkStage stage) {
  g_lock.at_fork(stage);
  table_at_fork(stage);
  if (stage != ForkStage::kInChild) return;
  const Heap* mine = registry::heap_of_thread();
  const ThreadTags* kept = mine == nullptr ? nullptr : mine->tags;
  for (uint32_t i = 0; kept != nullptr && i < smaller(kept->depth, ThreadTags::kMostNested); ++i) {
    if (Tag* tag = kept->stack[i]) tag->in_force.fetch_add(1, std::memory_order_relaxed);
  }
}

}  // namespace tags
}  // namespace acre
