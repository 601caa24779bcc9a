#include "slab/arena.h"

#include <new>

#include "os/cgroup.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "tables/options.h"

namespace acre::arenas {

namespace {

constexpr unsigned kPerProcessor = 4;

constinit std::atomic<Arena*> g_arenas[kMostArenas];
constinit std::atomic<unsigned> g_count{0};
constinit std::atomic<unsigned> g_most{0};  // 0: not worked out yet

// On one processor an arena will do. A quota bounds how much work is done, not how many threads are at it.
unsigned wanted() {
  if (options().arenas != 0) return static_cast<unsigned>(options().arenas);
  const unsigned processors = os::processors();
  if (processors == 1) return 1;
  const unsigned quota = relaxed_load(options().cgroup) ? os::cgroup_processors() : 0;
  return smaller(kPerProcessor * (quota == 0 ? processors : smaller(quota, processors)), kMostArenas);
}

template <class Action>
void for_each_lock(Action action) {
  for (unsigned i = 0; i < count(); ++i) {
    for (Bin& bin : at(i)->bins) action(bin);
  }
  for (unsigned i = 0; i < count(); ++i) action(at(i)->pages);
}

}  // namespace

unsigned count() { return g_count.load(std::memory_order_acquire); }

Arena* at(unsigned index) { return g_arenas[index].load(std::memory_order_relaxed); }

unsigned most() {
  if (g_most.load(std::memory_order_relaxed) == 0) look_at_quota();
  return larger(g_most.load(std::memory_order_relaxed), count());
}

void look_at_quota() { g_most.store(wanted(), std::memory_order_relaxed); }

Arena* make() {
  constexpr size_t kBytes = align_up(sizeof(Arena), kCacheLine);
  char* memory = static_cast<char*>(metadata::allocate(kBytes + Arena::kEndedBytes));
  if (memory == nullptr) return nullptr;
  Arena* arena = new (memory) Arena;
  arena->ended = reinterpret_cast<ClassEvents*>(memory + kBytes);  // all zero, as it comes
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

size_t used_pages() {
  size_t pages = 0;
  for (unsigned i = 0; i < count(); ++i) pages += at(i)->pages.used_pages();
  return pages;
}

size_t purge_all(size_t keep) {
  size_t purged = 0;
  for (unsigned i = 0; i < count(); ++i) {
    PageHeap& pages = at(i)->pages;
    purged += pages.purge_to(keep);
    keep -= smaller(keep, pages.dirty_pages() + pages.muzzy_pages());
  }
  return purged;
}

void before_fork() {
  for_each_lock([](auto& part) { part.before_fork(); });
}
void after_fork_in_parent() {
  for_each_lock([](auto& part) { part.after_fork_in_parent(); });
}
void after_fork_in_child() {
  for_each_lock([](auto& part) { part.after_fork_in_child(); });
}

}  // namespace acre::arenas
