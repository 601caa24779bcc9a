// Numbers of manual arenas.
#include "manual/manual_arena.h"

namespace acre::arenas {

namespace {

// By number less manual_numbers_begin(). Written under manual_lock.
constinit std::atomic<ManualArena*> g_numbered[kMostNumbered];
constinit std::atomic<unsigned> g_numbers{0};  // how many of them were ever given

}  // namespace

unsigned numbers() { return manual_numbers_begin() + g_numbers.load(std::memory_order_acquire); }

unsigned give_number(ManualArena& arena) {
  const unsigned begin = manual_numbers_begin();
  Lock lock(manual_lock);
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

bool is_one(size_t number) { return number < count() || manual_at(number) != nullptr; }

ManualArena* manual_at(size_t number) {
  if (number < manual_numbers_begin() || number >= numbers()) return nullptr;
  return g_numbered[number - manual_numbers_begin()].load(std::memory_order_acquire);
}

void drop_number(ManualArena& arena) {
  Lock lock(manual_lock);
  if (arena.arena.index == kNoNumber) return;
  g_numbered[arena.arena.index - manual_numbers_begin()].store(nullptr, std::memory_order_release);
  arena.arena.index = kNoNumber;
}

}  // namespace acre::arenas
