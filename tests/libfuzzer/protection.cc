// The containers of the hardened mode and of sampled guards against plain ones: the same operations on both, and the same
// answers.
#include <cstring>
#include <list>
#include <memory>
#include <set>
#include <vector>

#include "guard/slots.h"
#include "hardened/quarantine.h"
#include "hardened/zero_size.h"
#include "input.h"
#include "pages/page_heap.h"
#include "pages/page_map.h"

namespace acre {
namespace {

using fuzz::Input;

// A block leaves once, while others of its class come or when one is asked for, and never at once.
void quarantine(Input& input) {
  const auto waiting = std::make_unique<hardened::Quarantine>();
  waiting->random().seed(input.ConsumeIntegral<uint64_t>());
  const SizeClass classes[] = {0, 5, static_cast<SizeClass>(kSmallClasses - 1)};
  Slab runs[std::size(classes)];
  std::multiset<void*> plain[std::size(classes)];
  for (size_t i = 0; i < std::size(classes); ++i) runs[i].size_class = classes[i];
  uintptr_t next = 0;
  while (!input.empty()) {
    const size_t i = input.below(std::size(classes));
    hardened::Waiting left;
    if (input.one_in(4)) {
      left = waiting->take(classes[i]);
      HOLDS((left.block == nullptr) == plain[i].empty());
    } else {
      const bool is_full = plain[i].size() == hardened::kRooms.room[classes[i]];
      void* block = pointer_to(next += 16);
      left = waiting->exchange(&runs[i], block);
      HOLDS((left.block != nullptr) == is_full && left.block != block);
      plain[i].insert(block);
    }
    if (left.block != nullptr) HOLDS(left.slab == &runs[i] && plain[i].erase(left.block) == 1);
    std::multiset<void*> seen[std::size(classes)];
    waiting->for_each([&](const Slab* slab, void* block) { seen[slab - runs].insert(block); });
    for (size_t j = 0; j < std::size(classes); ++j) HOLDS(seen[j] == plain[j]);
  }
}

void zero_sizes(Input& input) {
  namespace zero_size = hardened::zero_size;
  std::set<char*> plain;
  while (!input.empty()) {
    if (plain.empty() || input.ConsumeBool()) {
      char* p = static_cast<char*>(zero_size::allocate());
      HOLDS(p != nullptr && zero_size::contains(p) && zero_size::is_live(p) && plain.insert(p).second);
      HOLDS(!zero_size::is_live(p + input.between(1, 15)));
      continue;
    }
    const auto victim = std::next(plain.begin(), static_cast<long>(input.below(plain.size())));
    const size_t off = input.below(16);  // an address between two is nobody's
    HOLDS(zero_size::free(*victim + off) == (off == 0));
    HOLDS(zero_size::is_live(*victim) == (off != 0));
    if (off != 0) continue;
    HOLDS(!zero_size::free(*victim));
    plain.erase(victim);
  }
  for (char* p : plain) HOLDS(zero_size::free(p));
}

// Slots of guarded blocks. The slots themselves are made once, by the first input.
void guard_slots(Input& input) {
  static PageHeap home;
  static std::list<guard::Slot*> spent;  // those that were used, in the order in which they are used again
  static std::set<guard::Slot*> used;
  std::vector<guard::Slot*> live;
  while (!input.empty()) {
    if (live.empty() || input.ConsumeBool()) {
      const auto c = static_cast<SizeClass>(input.below(class_of_size(4096) + 1));
      const size_t asked = input.between(0, size_of_class(c));
      guard::Slot* slot = guard::slots::take(home, c, asked);
      HOLDS((slot == nullptr) == (live.size() == 80));  // 320 KiB
      if (slot == nullptr) continue;
      live.push_back(slot);
      HOLDS(used.insert(slot).second || spent.front() == slot);  // fresh ones come first
      spent.remove(slot);
      HOLDS(slot->is_live() && slot->bytes() == size_of_class(c) && guard::slots::damaged_at(slot) == 0);
      const Address page = slot->run.base, block = slot->block();
      HOLDS(block == page || block + slot->bytes() == page + kPageBytes);
      HOLDS(guard::slots::has(block) && guard::slots::nearest(block) == slot);
      HOLDS(g_page_map.find(pointer_to(block)) == &slot->run);
      for (size_t i = 0; i < asked; ++i) HOLDS(static_cast<char*>(pointer_to(block))[i] == 0);
      std::memset(pointer_to(block), 1, asked);
      HOLDS(guard::slots::damaged_at(slot) == 0);
      if (asked == kPageBytes) continue;
      Address beside = page + input.below(kPageBytes - asked);
      if (beside >= block) beside += asked;
      char* const at = static_cast<char*>(pointer_to(beside));
      const char was = *at;
      *at = static_cast<char>(was + 1);
      HOLDS(guard::slots::damaged_at(slot) == beside);
      *at = was;
      continue;
    }
    const size_t i = input.below(live.size());
    HOLDS(guard::slots::begin_free(live[i]) && !guard::slots::begin_free(live[i]) && !live[i]->is_live());
    guard::slots::end_free(live[i]);
    spent.push_back(live[i]);
    live.erase(live.begin() + static_cast<long>(i));
    HOLDS(guard::counts().live == live.size());
  }
  for (guard::Slot* slot : live) {
    HOLDS(guard::slots::begin_free(slot));
    guard::slots::end_free(slot);
    spent.push_back(slot);
  }
}

constexpr void (*kContainers[])(Input&) = {quarantine, zero_sizes, guard_slots};

}  // namespace
}  // namespace acre

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  acre::fuzz::run_one(acre::kContainers, data, size);
  return 0;
}
