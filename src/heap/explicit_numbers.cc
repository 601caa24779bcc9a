// Numbers of explicit arenas.
#include "heap/explicit.h"

namespace acre::arenas {

namespace {

// By number less explicit_numbers_begin(). Written under explicit_lock.
constinit std::atomic<ExplicitArena*> g_numbered[kMostNumbered];
constinit std::atomic<unsigned> g_numbers{0};  // of which so many were ever given

}  // namespace

unsigned numbers() { return explicit_numbers_begin() + g_numbers.load(std::memory_order_acquire); }

unsigned give_number(ExplicitArena& arena) {
  const unsigned begin = explicit_numbers_begin();
  Lock lock(explicit_lock);
  for (unsigned i = 0; i < kMostNumbered; ++i) {
    if (g_numbered[i].load(std::memory_order_relaxed) != nullptr) continue;
    arena.arena.index = begin + i;
    arena.source.set_number(arena.arena.index);
    g_numbered[i].store(&arena, std::memory_order_release);
    if (i == g_numbers.load(std::memory_order_relaxed)) g_numbers.store(i + 1, std::memory_order_release);
    return arena.arena.index;
  }
  return kNoNumber;
}

bool is_one(size_t number) { return number < count() || explicit_at(number) != nullptr; }

ExplicitArena* explicit_at(size_t number) {
  if (number < explicit_numbers_begin() || number >= numbers()) return nullptr;
  return g_numbered[number - explicit_numbers_begin()].load(std::memory_order_acquire);
}

void drop_number(ExplicitArena& arena) {
  Lock lock(explicit_lock);
  if (arena.arena.index == kNoNumber) return;
  g_numbered[arena.arena.index - explicit_numbers_begin()].store(nullptr, std::memory_order_release);
  arena.arena.index = kNoNumber;
}

}  // namespace acre::arenas
