// The quarantine of a thread's heap: small blocks that the thread has freed, a few of each class. A block that is freed
// takes the place of another, chosen at random, which goes back to its run. So no block is handed out again at once,
// and nobody can foresee when it is.
//
// Blocks in quarantine are zero and have their run's mark. Their runs count them as used.
#pragma once

#include "cache/heap.h"
#include "hardened/hardened.h"

namespace acre::hardened {

struct Waiting {
  Slab* slab = nullptr;
  void* block = nullptr;
};

inline constexpr uint32_t kMostWaiting = 16;           // blocks of a class …
inline constexpr uint32_t kMostWaitingBytes = 8 << 10;  // … unless they have more bytes together …
inline constexpr uint32_t kLeastWaiting = 2;           // … and at least so many

struct Rooms {
  uint8_t room[kSmallClasses];
  constexpr Rooms() : room() {
    for (SizeClass c = 0; c < kSmallClasses; ++c) {
      const auto fit = kMostWaitingBytes / static_cast<uint32_t>(size_of_class(c));
      room[c] = static_cast<uint8_t>(larger(kLeastWaiting, smaller(kMostWaiting, fit)));
    }
  }
};
inline constexpr Rooms kRooms;

class Quarantine {
 public:
  // Returns the block that goes back to its run; block null: none.
  Waiting exchange(Slab* slab, void* block) {
    List& list = lists_[slab->size_class];
    const uint32_t room = kRooms.room[slab->size_class];
    if (list.count < room) {
      list.waiting[list.count] = {slab, block};
      release_store(list.count, list.count + 1);
      return {};
    }
    Waiting* place = &list.waiting[random_.below(room)];
    asm("" : "+r"(place));  // gcc computes the address twice otherwise
    const Waiting left = *place;
    *place = {slab, block};
    return left;
  }

  // Takes any block; null: there is none.
  Waiting take(SizeClass c) {
    List& list = lists_[c];
    if (list.count == 0) return {};
    relaxed_store(list.count, list.count - 1);
    return list.waiting[list.count];
  }

  Random& random() { return random_; }

  // For any thread: visit(slab, block) for each block. The blocks are not of one moment.
  template <class Visit>
  void for_each(Visit&& visit) const {
    for (const List& list : lists_) {
      for (uint32_t i = 0, count = smaller(racy_load(list.count), kMostWaiting); i < count; ++i) {
        const Slab* slab = racy_load(list.waiting[i].slab);
        if (slab != nullptr) visit(slab, racy_load(list.waiting[i].block));
      }
    }
  }

 private:
  struct List {
    uint32_t count = 0;
    Waiting waiting[kMostWaiting] = {};
  };
  Random random_;
  List lists_[kSmallClasses];
};

// The heap's own. Null: memory for it was refused.
Quarantine* make_quarantine(Heap& heap);
ACRE_ALWAYS_INLINE Quarantine* quarantine_of(Heap& heap) {
  Quarantine* quarantine = heap.quarantine;
  return ACRE_LIKELY(quarantine != nullptr) ? quarantine : make_quarantine(heap);
}

}  // namespace acre::hardened
