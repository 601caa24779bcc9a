#include "control/arena_nodes.h"

#include <errno.h>

#include "cache/lookup.h"
#include "control/ctl.h"
#include "manual/manual_arena.h"
#include "os/os.h"
#include "reclaim/quiet_runs.h"

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

int arena_initialized(Call& call) {
  call.value = call.index == kAllArenas || pages_of(call.index) != nullptr;
  return 0;
}

int arena_decay(Call& call) { return for_arenas(call.index, decay); }
int arena_purge(Call& call) {
  return for_arenas(call.index, [](PageHeap& pages) {
    quiet_runs::purge_all(arena_with(&pages));
    pages.purge_to(0);
  });
}

int set_decay_time(Option of, size_t index, int64_t ms) {
  const OptionInfo& info = kOptionTable[index_of(of)];
  if (ms < info.least || ms > info.most || (pages_of(index) == nullptr && index != kAllArenas)) return EFAULT;
  return for_arenas(index, [of, ms](PageHeap& pages) {
    of == Option::muzzy_decay_ms ? pages.set_muzzy_decay_ms(ms) : pages.set_dirty_decay_ms(ms);
    decay(pages);
  });
}

static int decay_time(Option of, Call& call) {
  if (call.is_told) return set_decay_time(of, call.index, call.to.as<ssize_t>());
  const arenas::Walk walk;
  PageHeap* pages = pages_of(call.index);
  if (pages == nullptr) return EFAULT;
  call.value = of == Option::muzzy_decay_ms ? pages->muzzy_decay_ms() : pages->dirty_decay_ms();
  return 0;
}
int arena_dirty_decay_ms(Call& call) { return decay_time(Option::dirty_decay_ms, call); }
int arena_muzzy_decay_ms(Call& call) { return decay_time(Option::muzzy_decay_ms, call); }

int arenas_create(Call& call) {
  arenas::ArenaSettings settings;
  settings.hooks = static_cast<extent_hooks_t*>(const_cast<void*>(call.address));
  ManualArena* arena = arenas::create(settings);
  const unsigned number = arena == nullptr ? arenas::kNoNumber : arenas::give_number(*arena);
  call.value = number;
  if (number != arenas::kNoNumber) return 0;
  if (arena != nullptr) arenas::destroy(*arena);
  return EAGAIN;
}

int arena_reset(Call& call) { return arenas::reset_number(call.index) ? 0 : EFAULT; }
int arena_destroy(Call& call) { return arenas::destroy_number(call.index) ? 0 : EFAULT; }

int arena_extent_hooks(Call& call) {
  const arenas::Walk walk;
  ManualArena* arena = arenas::manual_at(call.index);
  auto* to = call.to.as<extent_hooks_t*>();
  if (call.is_told ? arena == nullptr || to == nullptr : pages_of(call.index) == nullptr) return EFAULT;
  if (call.is_told) arenas::set_hooks(*arena, to);
  call.value = arena == nullptr || arena->source.hooks() == nullptr ? default_hooks() : arena->source.hooks();
  return 0;
}

int arena_name(Call& call) {
  const arenas::Walk walk;
  ManualArena* arena = arenas::manual_at(call.index);
  const auto* to = call.to.as<const char*>();
  if (call.is_told ? arena == nullptr || to == nullptr : pages_of(call.index) == nullptr) return EFAULT;
  if (call.is_told) arenas::set_name(*arena, to);
  call.value = arena == nullptr ? "auto" : &arena->name[0];
  return 0;
}

int arena_retain_grow_limit(Call& call) {
  const arenas::Walk walk;
  PageHeap* pages = pages_of(call.index);
  const auto to = call.to.as<size_t>();
  if (pages == nullptr || (call.is_told && to < kPageBytes)) return EFAULT;
  if (call.is_told) pages->set_most_growth(to == SIZE_MAX ? 0 : to);
  call.value = pages->most_growth() == 0 ? SIZE_MAX : pages->most_growth();
  return 0;
}

int arenas_lookup(Call& call) {
  const Found found = find_block(call.address);
  const Arena* arena = arena_of(found);
  // Not a block of acre's; a huge block, which has no arena; or an arena without a number.
  if (arena == nullptr || arena->index == arenas::kNoNumber) return EINVAL;
  call.value = arena->index;
  return 0;
}

}  // namespace acre::ctl
