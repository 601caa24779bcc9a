#include "slab/arena.h"

#include <new>

#include "os/os.h"
#include "pages/metadata.h"
#include "tables/options.h"

namespace acre::arenas {

namespace {

constexpr unsigned kPerProcessor = 4;

constinit std::atomic<Arena*> g_arenas[kMostArenas];
constinit std::atomic<unsigned> g_count{0};
constinit std::atomic<Arena*> g_explicit{nullptr};
constinit std::atomic<Arena*> g_next_to_decay{nullptr};

template <class Action>
void for_each_lock(Action action) {
  for (unsigned i = 0; i < count(); ++i) {
    for (Bin& bin : at(i)->bins) action(bin);
  }
  for (Arena* arena = first_explicit(); arena != nullptr; arena = arena->next_explicit) {
    for (Bin& bin : arena->bins) action(bin);
  }
  for (unsigned i = 0; i < count(); ++i) action(at(i)->pages);
  for (Arena* arena = first_explicit(); arena != nullptr; arena = arena->next_explicit) action(arena->pages);
}

}  // namespace

unsigned count() { return g_count.load(std::memory_order_acquire); }

Arena* at(unsigned index) { return g_arenas[index].load(std::memory_order_relaxed); }

unsigned most() {
  static std::atomic<unsigned> cached{0};
  unsigned most = cached.load(std::memory_order_relaxed);
  if (most != 0) return most;
  uint64_t wanted = static_cast<uint64_t>(options().arenas);
  if (wanted == 0) {
    unsigned processors = os::processors();
    wanted = processors == 1 ? 1 : uint64_t{kPerProcessor} * processors;
  }
  most = static_cast<unsigned>(smaller<uint64_t>(wanted, kMostArenas));
  cached.store(most, std::memory_order_relaxed);
  return most;
}

Arena* make() {
  void* memory = metadata::allocate(sizeof(Arena));
  if (memory == nullptr) return nullptr;
  Arena* arena = new (memory) Arena;
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

Arena* first_explicit() { return g_explicit.load(std::memory_order_acquire); }

void add_explicit(Arena* arena) {
  arena->next_explicit = g_explicit.load(std::memory_order_relaxed);
  g_explicit.store(arena, std::memory_order_release);
}

void decay_an_explicit(uint64_t now_ms) {
  Arena* arena = g_next_to_decay.load(std::memory_order_acquire);
  if (arena == nullptr) arena = first_explicit();
  if (arena == nullptr) return;
  g_next_to_decay.store(arena->next_explicit, std::memory_order_release);
  arena->pages.decay(now_ms);
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
  for (Arena* arena = first_explicit(); arena != nullptr; arena = arena->next_explicit) {
    purged += arena->pages.purge_to(keep);
    keep -= smaller(keep, arena->pages.dirty_pages() + arena->pages.muzzy_pages());
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
