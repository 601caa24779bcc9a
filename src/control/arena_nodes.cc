#include "control/arena_nodes.h"

#include <errno.h>

#include "cache/lookup.h"
#include "control/ctl.h"
#include "manual/manual_arena.h"
#include "os/os.h"

namespace acre::ctl {

// Makes the first arena, since programs ask for it before they allocate.
PageHeap* pages_of(size_t index) {
  if (index == 0) registry::arena_at(0);
  if (index < arenas::count()) return &arenas::at(static_cast<unsigned>(index))->pages;
  ManualArena* arena = arenas::manual_at(index);
  return arena == nullptr ? nullptr : &arena->arena.pages;
}

namespace {

// An arena that another thread destroys meanwhile stays valid during the Walk.
template <class Action>
int for_arenas(size_t index, Action action) {
  const arenas::Walk walk;
  if (PageHeap* pages = pages_of(index)) action(*pages);
  if (index != kAllArenas && index != arenas::numbers()) return 0;
  arenas::for_each([&](Arena& arena) { action(arena.pages); });
  return 0;
}
void decay(PageHeap& pages) { pages.decay(os::now_ms()); }

}  // namespace

int decay_arenas(size_t index) { return for_arenas(index, decay); }
int purge_arenas(size_t index) {
  return for_arenas(index, [](PageHeap& pages) { pages.purge_to(0); });
}

int64_t decay_time(Option of, size_t index, int* error) {
  const arenas::Walk walk;
  PageHeap* pages = pages_of(index);
  if (pages == nullptr) {
    *error = EFAULT;
    return 0;
  }
  return of == Option::muzzy_decay_ms ? pages->muzzy_decay_ms() : pages->dirty_decay_ms();
}

int set_decay_time(Option of, size_t index, int64_t ms) {
  const OptionInfo& info = kOptionTable[index_of(of)];
  if (ms < info.least || ms > info.most || (pages_of(index) == nullptr && index != kAllArenas)) return EFAULT;
  return for_arenas(index, [of, ms](PageHeap& pages) {
    of == Option::muzzy_decay_ms ? pages.set_muzzy_decay_ms(ms) : pages.set_dirty_decay_ms(ms);
    decay(pages);
  });
}

unsigned create_arena(const void* hooks, int* error) {
  arenas::ArenaSettings settings;
  settings.hooks = static_cast<extent_hooks_t*>(const_cast<void*>(hooks));
  ManualArena* arena = arenas::create(settings);
  const unsigned number = arena == nullptr ? arenas::kNoNumber : arenas::give_number(*arena);
  if (number != arenas::kNoNumber) return number;
  if (arena != nullptr) arenas::destroy(*arena);
  *error = EAGAIN;
  return 0;
}

int reset_arena(size_t index) { return arenas::reset_number(index) ? 0 : EFAULT; }
int destroy_arena(size_t index) { return arenas::destroy_number(index) ? 0 : EFAULT; }

extent_hooks_t* hooks_of(size_t index, int* error) {
  const arenas::Walk walk;
  if (pages_of(index) == nullptr) *error = EFAULT;
  ManualArena* arena = arenas::manual_at(index);
  return arena == nullptr || arena->source.hooks() == nullptr ? default_hooks() : arena->source.hooks();
}
int set_hooks_of(size_t index, extent_hooks_t* hooks) {
  const arenas::Walk walk;
  ManualArena* arena = arenas::manual_at(index);
  if (arena == nullptr || hooks == nullptr) return EFAULT;
  arenas::set_hooks(*arena, hooks);
  return 0;
}

const char* name_of_arena(size_t index, int* error) {
  const arenas::Walk walk;
  ManualArena* arena = arenas::manual_at(index);
  if (arena != nullptr) return arena->name;
  if (pages_of(index) == nullptr) *error = EFAULT;
  return "auto";
}
int set_name_of(size_t index, const char* name) {
  const arenas::Walk walk;
  ManualArena* arena = arenas::manual_at(index);
  if (arena == nullptr || name == nullptr) return EFAULT;
  arenas::set_name(*arena, name);
  return 0;
}

size_t grow_limit_of(size_t index, int* error) {
  const arenas::Walk walk;
  const PageHeap* pages = pages_of(index);
  if (pages == nullptr) *error = EFAULT;
  return pages == nullptr || pages->most_growth() == 0 ? SIZE_MAX : pages->most_growth();
}
int set_grow_limit_of(size_t index, size_t bytes) {
  const arenas::Walk walk;
  PageHeap* pages = pages_of(index);
  if (pages == nullptr || bytes < kPageBytes) return EFAULT;
  pages->set_most_growth(bytes == SIZE_MAX ? 0 : bytes);
  return 0;
}

unsigned arena_of_block(const void* address, int* error) {
  const Found found = find_block(address);
  const Arena* arena = found.slab != nullptr  ? arena_of(found.slab)
                       : found.run != nullptr ? arena_of(found.run)
                                              : nullptr;
  if (arena != nullptr && arena->index != arenas::kNoNumber) return arena->index;
  *error = EINVAL;  // not a block of acre's; a huge block, which has no arena; or an arena without a number
  return 0;
}

}  // namespace acre::ctl
