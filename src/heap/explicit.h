// Explicit arenas: those that the program makes, for blocks that shall lie together, keep to a limit, or go all at once.
//
// Nothing of one lies in a thread's cache, not in that of a thread that the program has bound to it (binding.h) either: its
// private lists are those of heaps of its own, which a thread takes for the time of one allocation, as those of threads at
// their end are (registry.h). Its blocks are freed by free() like any others, but without an outbox: straight to the run's
// remote word. So when an arena is reset no thread holds anything of it but the program's pointers.
//
// An arena that was destroyed is kept for the next that is made. So to make one costs no system call.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "heap/lookup.h"
#include "slab/arena.h"

struct acre_heap;  // what the program knows a heap by (acre/heap.h)

namespace acre {

// What an explicit arena may hold before unused memory goes back and the program is called: soft_limit.cc.
struct SoftLimit {
  using Callback = void (*)(acre_heap* heap, size_t bytes, void* argument);

  std::atomic<size_t> bytes{SIZE_MAX};
  Callback callback = nullptr;
  void* argument = nullptr;
  std::atomic<bool> calling{false};
  std::atomic<size_t> call_from{0};         // bytes in use
  std::atomic<uint64_t> purge_from_ms{0};   // later, where purges are refused
};

struct ExplicitArena {
  Arena arena;                             // first member: a run's home leads here
  std::atomic<Heap*> at_hand{nullptr};     // a heap that nobody uses
  Mutex lock{Rank::kHeaps};
  Heap* idle ACRE_GUARDED_BY(lock) = nullptr;   // more of them, through next_late
  Heap* heaps ACRE_GUARDED_BY(lock) = nullptr;  // all, through next
  std::atomic<bool> in_use{false};
  std::atomic<uint32_t> life{0};           // how often it was destroyed
  ExplicitArena* next_spare = nullptr;
  char name[32] = {};
  Source source;                           // arena.pages has it unless it is none
  SoftLimit soft_limit;
};

inline ExplicitArena* explicit_arena_of(Arena* arena) {
  return arena != nullptr && arena->is_explicit ? reinterpret_cast<ExplicitArena*>(arena) : nullptr;
}
// The explicit arena that the program has chosen for a block, if any. The one that tags share (tags.h) is none.
inline ExplicitArena* explicit_arena_of(const Found& found) {
  if (found.slab != nullptr && ACRE_LIKELY(!found.slab->is_explicit)) return nullptr;
  Arena* arena = found.slab != nullptr ? arena_of(found.slab) : arena_of(found.run);
  return arena != nullptr && arena->is_labelled ? nullptr : explicit_arena_of(arena);
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
ExplicitArena* create(const ArenaSettings& settings);

// Frees all blocks of the arena. Nobody may use it, or blocks of it, at the same time; afterwards pointers to them are
// foreign. destroy: the arena is gone, too.
void reset(ExplicitArena& arena);
void destroy(ExplicitArena& arena);

// n bytes at a multiple of alignment (a power of two), all zero if so asked. Null and ENOMEM on failure. Any thread.
void* allocate_in(ExplicitArena& arena, size_t n, size_t alignment, bool zeroed);

// A small block, for so many bytes. *kept: null, or a heap of the arena that the calling thread keeps for this, of which it may have one at
// a time; it goes back by give_back_heap(). kept: null, it is not to keep one.
void* allocate_small_in(ExplicitArena& arena, SizeClass c, size_t asked, Heap** kept);
void give_back_heap(ExplicitArena& arena, Heap* heap);

// As realloc for p != null, n != 0; the block that is returned is in this arena, wherever p is.
void* reallocate_in(ExplicitArena& arena, void* p, size_t n);

// Bytes in its runs in use, free blocks in them included, and in its huge blocks.
size_t bytes_in_use(const ExplicitArena& arena);

// Returns dirty pages, and calls the program, if the soft limit is passed. refused: an allocation is about to be. True:
// the program was called.
bool attend_soft_limit(ExplicitArena& arena, bool refused);
void set_soft_limit(ExplicitArena& arena, const ArenaSettings& settings);

// Whoever changes the hooks has to see to it that the new ones can take back what the old ones gave. null: none.
void set_hooks(ExplicitArena& arena, extent_hooks_t* hooks);

// At most 31 characters of it.
void set_name(ExplicitArena& arena, const char* name);

// --- By number, as ctl and MALLOCX_ARENA name arenas. The automatic ones come first. -------------------------------

inline constexpr unsigned kMostNumbered = 1024;                    // explicit arenas with a number at the same time
inline constexpr unsigned kMostNumbers = kMostArenas + kMostNumbered;
inline constexpr unsigned kNoNumber = UINT32_MAX;

// Places for figures of arenas: one a number, and one for all that have none.
inline constexpr unsigned kFigures = kMostNumbers + 1;
constexpr unsigned figures_of(unsigned number) { return number == kNoNumber ? kMostNumbers : number; }

// Numbers below this may be those of arenas; it is no arena's.
unsigned numbers();

// Gives the arena a number, the least that is free; kNoNumber if there is none.
unsigned give_number(ExplicitArena& arena);

// Whether there is an arena with this number, automatic or explicit.
bool is_one(size_t number);

// The explicit arena with this number, or null.
ExplicitArena* explicit_at(size_t number);

// Visits the heaps of all explicit arenas. Meanwhile no arena is reset that a visited heap belongs to.
void for_each_heap(void (*visit)(Heap& heap, void* argument), void* argument);

void explicit_before_fork();
void explicit_sources_before_fork();  // later, by the order of locks
void explicit_after_fork_in_parent();
void explicit_after_fork_in_child();

}  // namespace arenas
}  // namespace acre
