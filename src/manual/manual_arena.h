// Manual arenas, which the program makes for blocks that lie together, keep to a limit, or are freed all at once.
//
// No thread's cache has blocks or runs of a manual arena, not even that of a thread bound to the arena (binding.h). The
// arena has heaps of its own, and a thread takes one for the time of one allocation, as it takes a fallback heap
// (cache/registry.h). free() frees its blocks like any others, but they never wait in an outbox: they go straight to
// the run's remote word. So when an arena is reset, no thread has anything of it but the program's pointers.
//
// An arena that was destroyed is a *spare*, for the next one that is made, so that making one costs no system call. A
// few spares are kept, and a few more for the arenas that live. Others are *retired*: their pages go back to the first
// automatic arena, clean, and acre's structures for them go back to the system (manual_life.cc).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cache/lookup.h"
#include "slab/arena.h"

struct acre_heap;  // what the program knows a heap by (acre/heap.h)

namespace acre {

// What a manual arena may hold before unused memory goes back and the program is called (soft_limit.cc).
struct SoftLimit {
  using Callback = void (*)(acre_heap* heap, size_t bytes, void* argument);

  std::atomic<size_t> bytes{SIZE_MAX};
  Callback callback = nullptr;
  void* argument = nullptr;
  std::atomic<bool> calling{false};
  std::atomic<size_t> call_from{0};         // bytes in use
  std::atomic<uint64_t> purge_from_ms{0};   // later than now while purges are refused
};

struct ManualArena {
  enum class State : uint32_t {
    kGone,      // a spare; or retired: all of its memory is then zero
    kLive,
    kChanging,  // one thread resets or destroys it
  };

  std::atomic<State> state{State::kGone};
  std::atomic<bool> has_first_heap{false};  // the heap whose memory lies before the arena
  std::atomic<Heap*> at_hand{nullptr};     // one idle heap, without the lock
  Heap* idle ACRE_GUARDED_BY(arena.heaps_lock) = nullptr;   // more idle heaps, through next_fallback
  Heap* heaps ACRE_GUARDED_BY(arena.heaps_lock) = nullptr;  // all, through next
  std::atomic<uint64_t> life{0};           // 0 unless the arena lives; else a number that no other arena has or had
  ManualArena* next_spare = nullptr;
  char name[32] = {};
  bool has_source = false;                 // changes under arenas::manual_lock. True: `source` may be in use
  Source source;                           // arena.pages uses it unless it is none
  SoftLimit soft_limit;
  Arena arena;
};
static_assert(std::is_standard_layout_v<ManualArena>);

// arena: the `arena` of a manual one.
inline ManualArena* manual_from(Arena* arena) {
  return reinterpret_cast<ManualArena*>(reinterpret_cast<char*>(arena) - offsetof(ManualArena, arena));
}
inline ManualArena* manual_arena_of(Arena* arena) {
  return arena != nullptr && arena->is_manual ? manual_from(arena) : nullptr;
}
// The manual arena that the program has chosen for a block, if any. The arena that tags share (tags.h) does not count.
inline ManualArena* manual_arena_of(const Found& found) {
  if (found.slab != nullptr && ACRE_LIKELY(!is_manual(found.slab))) return nullptr;
  Arena* arena = arena_of(found);
  return arena != nullptr && arena->is_labelled ? nullptr : manual_arena_of(arena);
}

namespace arenas {

struct ArenaSettings {
  static constexpr int64_t kAsOptions = -2;

  const char* name = "";
  size_t limit = SIZE_MAX;               // on bytes in runs in use and huge blocks
  size_t soft_limit = SIZE_MAX;          // on these bytes and dirty and muzzy pages
  SoftLimit::Callback on_soft_limit = nullptr;
  void* argument = nullptr;
  int64_t dirty_decay_ms = kAsOptions;
  int64_t muzzy_decay_ms = kAsOptions;
  extent_hooks_t* hooks = nullptr;       // the source of its memory; they have to live as long as the arena
  const FileSettings* file = nullptr;    // another source
  OnFailure on_failure = OnFailure::kRefuse;
};

// Null if memory or the file is refused.
ManualArena* create(const ArenaSettings& settings);

// reset frees all blocks of the arena; destroy also ends the arena. Afterwards pointers to its blocks are foreign. No
// other thread may use the arena or its blocks meanwhile. If a thread resets or destroys an arena that was destroyed,
// or that another thread resets or destroys at the same time, the program ends with a message.
void reset(ManualArena& arena);
void destroy(ManualArena& arena);

// Retires spares beyond those that may be kept, unless another thread walks over all arenas.
void retire_surplus();
extern std::atomic<bool> g_has_surplus ACRE_HIDDEN;
inline bool has_surplus() { return g_has_surplus.load(std::memory_order_relaxed); }

// The counts of all retired arenas together.
struct Retired {
  PageCounts pages;                       // purge counts alone
  LockCounts pages_lock;
  ClassEvents events[kSmallClasses];
  LockCounts bin_locks[kSmallClasses];
};
const Retired& retired();  // for a thread in a Walk (arenas::Walk)

// The memory for the arena's first heap, which lies in one piece with the arena.
void* memory_of_first_heap(ManualArena& arena);

// n bytes at a multiple of alignment (a power of two), zeroed if so asked. Null and ENOMEM on failure. For any thread.
void* allocate_in(ManualArena& arena, size_t n, size_t alignment, bool zeroed);

// A small block, of which the program asked for `asked` bytes. *kept: null, or the heap of the arena that the calling
// thread keeps for this. A thread may keep one, until give_back_heap(). kept null: the thread keeps none. may_be_seen:
// the block may be sampled, and has whole pages then.
void* allocate_small_in(ManualArena& arena, SizeClass c, size_t asked, Heap** kept, bool may_be_seen = true);
void give_back_heap(ManualArena& arena, Heap* heap);

// Like realloc, for p != null and n != 0. The returned block is in this arena, wherever p is.
void* reallocate_in(ManualArena& arena, void* p, size_t n);

// Bytes in the arena's runs in use, with their free blocks, and in its huge blocks.
size_t bytes_in_use(const ManualArena& arena);

// Returns dirty pages if these and the bytes in use pass the soft limit. Calls the program if the bytes in use alone
// pass it. refused: an allocation is about to be refused. Returns whether the program was called.
bool attend_soft_limit(ManualArena& arena, bool refused);
void set_soft_limit(ManualArena& arena, const ArenaSettings& settings);

// The caller has to make sure that the new hooks can take back what the old ones gave. null: none.
void set_hooks(ManualArena& arena, extent_hooks_t* hooks);

// Takes at most 31 characters of the name.
void set_name(ManualArena& arena, const char* name);

// --- Numbers of arenas, for ctl and MALLOCX_ARENA. The automatic arenas come first. --------------------------------

inline constexpr unsigned kMostNumbered = 1024;                    // most manual arenas with a number at the same time
inline constexpr unsigned kMostNumbers = kMostArenas + kMostNumbered;
inline constexpr unsigned kNoNumber = UINT32_MAX;

// Every arena's number is less.
unsigned numbers();

// Gives the arena the least free number. kNoNumber: there is none.
unsigned give_number(ManualArena& arena);
void drop_number(ManualArena& arena);  // if it has one

// Whether there is an arena with this number, automatic or manual.
bool is_one(size_t number);

// The manual arena with this number, or null. If other threads may destroy the arena, the caller reads it in a Walk.
ManualArena* manual_at(size_t number);

// As reset() and destroy(). Returns false if there is no such arena, or if another thread resets or destroys it.
bool reset_number(size_t number);
bool destroy_number(size_t number);

// Calls visit for the heaps of all manual arenas. No arena that a visited heap belongs to is reset meanwhile.
void for_each_heap(void (*visit)(Heap& heap, void* argument), void* argument);

// Calls visit for the argument of each arena's function and for its hooks. Takes no lock: other threads are stopped.
void for_each_argument(void (*visit)(const void* argument, void* to), void* to);

void manual_at_fork(ForkStage stage);
void manual_sources_at_fork(ForkStage stage);  // later, by the order of locks

}  // namespace arenas
}  // namespace acre
