// The slots of a schedule's blocks. A free slot is taken again by the thread that has emptied it. A thread without one
// takes those of another, the longest empty ones first. So there are as many as blocks lived at a time.
#pragma once

#include <cstdint>
#include <vector>

#include "replay/format.h"

namespace acre::trace {

struct Moment {  // behind a thread's word of this number
  uint32_t thread = replay::kNoThread;
  uint32_t word = 0;
};

class ScheduleSlots {
 public:
  struct Slot {
    Moment last;  // what was done with the block, or emptied the slot
    uint32_t holder;
    uint32_t older, newer;              // of all that are empty
    uint32_t older_here, newer_here;    // of those that the thread holds
  };

  // Not more than kMostSlots: then kMostSlots is returned.
  uint32_t take(uint32_t thread) {
    if (thread >= held_.size()) held_.resize(thread + 1);
    if (held_[thread].newest == kNothing && all_.oldest != kNothing) take_over(thread);
    const uint32_t slot = held_[thread].newest;
    if (slot != kNothing) {
      unlink(slot);
      return slot;
    }
    if (slots_.size() >= replay::kMostSlots) return replay::kMostSlots;
    slots_.push_back({});
    return static_cast<uint32_t>(slots_.size() - 1);
  }

  void give(uint32_t slot, uint32_t thread) {
    if (thread >= held_.size()) held_.resize(thread + 1);
    Slot& entry = slots_[slot];
    entry.older = all_.newest;
    entry.newer = kNothing;
    (all_.newest == kNothing ? all_.oldest : slots_[all_.newest].newer) = slot;
    all_.newest = slot;
    hold(slot, thread);
  }

  Moment& last(uint32_t slot) { return slots_[slot].last; }
  uint32_t count() const { return static_cast<uint32_t>(slots_.size()); }

 private:
  static constexpr uint32_t kNothing = UINT32_MAX;
  static constexpr unsigned kGroup = 16;  // taken over at once: a wait for the last of them is one for all
  struct List {
    uint32_t oldest = kNothing, newest = kNothing;
  };

  void hold(uint32_t slot, uint32_t thread) {
    Slot& entry = slots_[slot];
    List& list = held_[thread];
    entry.holder = thread;
    entry.older_here = list.newest;
    entry.newer_here = kNothing;
    (list.newest == kNothing ? list.oldest : slots_[list.newest].newer_here) = slot;
    list.newest = slot;
  }

  void let_go(uint32_t slot) {
    const Slot& entry = slots_[slot];
    List& list = held_[entry.holder];
    (entry.older_here == kNothing ? list.oldest : slots_[entry.older_here].newer_here) = entry.newer_here;
    (entry.newer_here == kNothing ? list.newest : slots_[entry.newer_here].older_here) = entry.older_here;
  }

  void unlink(uint32_t slot) {
    let_go(slot);
    const Slot& entry = slots_[slot];
    (entry.older == kNothing ? all_.oldest : slots_[entry.older].newer) = entry.newer;
    (entry.newer == kNothing ? all_.newest : slots_[entry.newer].older) = entry.older;
  }

  void take_over(uint32_t thread) {
    uint32_t slot = all_.oldest;
    const uint32_t holder = slots_[slot].holder;
    for (unsigned i = 0; i < kGroup && slot != kNothing && slots_[slot].holder == holder; ++i) {
      const uint32_t next = slots_[slot].newer;
      let_go(slot);
      hold(slot, thread);
      slot = next;
    }
  }

  std::vector<Slot> slots_;
  std::vector<List> held_;  // by thread
  List all_;
};

}  // namespace acre::trace
