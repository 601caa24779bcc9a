// Manual arenas: those that the program makes, for blocks that shall lie together, keep to a limit, or go all at once.
//
// Nothing of one lies in a thread's cache, not in that of a thread that the program has bound to it (binding.h) either: its
// private lists are those of heaps of its own, which a thread takes for the time of one allocation, as those of threads at
// their end are (registry.h). Its blocks are freed by free() like any others, but without an outbox: straight to the run's
// remote word. So when an arena is reset no thread holds anything of it but the program's pointers.
//
// An arena that was destroyed is a *spare*, for the next that is made: so to make one costs no system call. Beyond a few of
// them, and a few for each that lives, spares are *retired*: their pages go back to the first automatic arena, clean, and
// what acre knew of them goes back to the system (manual_life.cc).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "cache/lookup.h"
#include "slab/arena.h"

struct acre_heap;  // what the program knows a heap by (acre/heap.h)

namespace acre {

// What a manual arena may hold before unused memory goes back and the program is called: soft_limit.cc.
struct SoftLimit {
  using Callback = void (*)(acre_heap* heap, size_t bytes, void* argument);

  std::atomic<size_t> bytes{SIZE_MAX};
  Callback callback = nullptr;
  void* argument = nullptr;
  std::atomic<bool> calling{false};
  std::atomic<size_t> call_from{0};         // bytes in use
  std::atomic<uint64_t> purge_from_ms{0};   // later, where purges are refused
};

struct ManualArena {
  enum class State : uint32_t {
    kGone,      // a spare, or retired: then all of it is zero
    kLive,
    kChanging,  // in the hands of one thread, which resets or destroys it
  };

  std::atomic<State> state{State::kGone};
  std::atomic<bool> has_first_heap{false};  // the one whose memory lies before the arena's
  std::atomic<Heap*> at_hand{nullptr};     // a heap that nobody uses
  Heap* idle ACRE_GUARDED_BY(arena.heaps_lock) = nullptr;   // more of them, through next_fallback
  Heap* heaps ACRE_GUARDED_BY(arena.heaps_lock) = nullptr;  // all, through next
  std::atomic<uint64_t> life{0};           // 0 while it is gone; else its own, which no other arena has or had
  ManualArena* next_spare = nullptr;
  char name[32] = {};
  bool has_source = false;                 // changes under arenas::manual_lock. True: what follows may be in use
  Source source;                           // arena.pages has it unless it is none
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
// The manual arena that the program has chosen for a block, if any. The one that tags share (tags.h) is none.
inline ManualArena* manual_arena_of(const Found& found) {
  if (found.slab != nullptr && ACRE_LIKELY(!found.slab->is_manual)) return nullptr;
  Arena* arena = found.slab != nullptr ? arena_of(found.slab) : arena_of(found.run);
  return arena != nullptr && arena->is_labelled ? nullptr : manual_arena_of(arena);
}

namespace arenas {

struct ArenaSettings {
  static constexpr int64_t kAsOptions = -2;

  const char* name = "";
  size_t limit = SIZE_MAX;               // bytes in runs in use and huge blocks
  size_t soft_limit = SIZE_MAX;          // bytes in these and in dirty and muzzy pages
  SoftLimit::Callback on_soft_limit = nullptr;
  void* argument = nullptr;
  int64_t dirty_decay_ms = kAsOptions;
  int64_t muzzy_decay_ms = kAsOptions;
  extent_hooks_t* hooks = nullptr;       // where its memory comes from; they have to live as long as the arena
  const FileSettings* file = nullptr;    // or this
  OnFailure on_failure = OnFailure::kRefuse;
};

// Null when memory is refused, or the file.
ManualArena* create(const ArenaSettings& settings);

// Frees all blocks of the arena. Nobody may use it, or blocks of it, at the same time; afterwards pointers to them are
// foreign. destroy: the arena is gone, too. Of two threads that reset or destroy an arena at the same time, the second ends
// the program with a message, as who does so with an arena that is gone.
void reset(ManualArena& arena);
void destroy(ManualArena& arena);

// Spares that are more than may be kept are retired, but while others walk over all arenas.
void retire_surplus();
extern std::atomic<bool> g_has_surplus ACRE_HIDDEN;
inline bool has_surplus() { return g_has_surplus.load(std::memory_order_relaxed); }

// What retired arenas have counted, all together.
struct Retired {
  PageCounts pages;                       // what was purged alone
  LockCounts pages_lock;
  ClassEvents events[kSmallClasses];
  LockCounts bin_locks[kSmallClasses];
};
const Retired& retired();  // by who walks (arenas::Walk)

// The memory of the arena's first heap lies in one piece with the arena.
void* memory_of_first_heap(ManualArena& arena);

// n bytes at a multiple of alignment (a power of two), all zero if so asked. Null and ENOMEM on failure. Any thread.
void* allocate_in(ManualArena& arena, size_t n, size_t alignment, bool zeroed);

// A small block, for so many bytes. *kept: null, or a heap of the arena that the calling thread keeps for this, of which it may have one at
// a time; it goes back by give_back_heap(). kept: null, it is not to keep one.
void* allocate_small_in(ManualArena& arena, SizeClass c, size_t asked, Heap** kept);
void give_back_heap(ManualArena& arena, Heap* heap);

// As realloc for p != null, n != 0; the block that is returned is in this arena, wherever p is.
void* reallocate_in(ManualArena& arena, void* p, size_t n);

// Bytes in its runs in use, free blocks in them included, and in its huge blocks.
size_t bytes_in_use(const ManualArena& arena);

// Returns dirty pages, and calls the program, if the soft limit is passed. refused: an allocation is about to be. True:
// the program was called.
bool attend_soft_limit(ManualArena& arena, bool refused);
void set_soft_limit(ManualArena& arena, const ArenaSettings& settings);

// Whoever changes the hooks has to see to it that the new ones can take back what the old ones gave. null: none.
void set_hooks(ManualArena& arena, extent_hooks_t* hooks);

// At most 31 characters of it.
void set_name(ManualArena& arena, const char* name);

// --- By number, as ctl and MALLOCX_ARENA name arenas. The automatic ones come first. -------------------------------

inline constexpr unsigned kMostNumbered = 1024;                    // manual arenas with a number at the same time
inline constexpr unsigned kMostNumbers = kMostArenas + kMostNumbered;
inline constexpr unsigned kNoNumber = UINT32_MAX;

// Places for figures of arenas: one a number, and one for all that have none.
inline constexpr unsigned kFigures = kMostNumbers + 1;
constexpr unsigned figures_of(unsigned number) { return number == kNoNumber ? kMostNumbers : number; }

// Numbers below this may be those of arenas; it is no arena's.
unsigned numbers();

// Gives the arena a number, the least that is free; kNoNumber if there is none.
unsigned give_number(ManualArena& arena);
void drop_number(ManualArena& arena);  // if it has one

// Whether there is an arena with this number, automatic or manual.
bool is_one(size_t number);

// The manual arena with this number, or null. Who looks into it while others may destroy it does so in a Walk.
ManualArena* manual_at(size_t number);

// As reset() and destroy(). False: there is none with this number, or another thread is at it.
bool reset_number(size_t number);
bool destroy_number(size_t number);

// Visits the heaps of all manual arenas. Meanwhile no arena is reset that a visited heap belongs to.
void for_each_heap(void (*visit)(Heap& heap, void* argument), void* argument);

void manual_at_fork(ForkStage stage);
void manual_sources_at_fork(ForkStage stage);  // later, by the order of locks

}  // namespace arenas
}  // namespace acre
