#include "leaks/graph.h"

#include "base/bits.h"
#include "base/hash.h"

namespace acre::leaks {

namespace {

constexpr size_t kWord = sizeof(Address);

}  // namespace

bool Graph::prepare(Room& room) {
  pending_ = room.take<size_t>(blocks_.live_blocks());
  return pending_ != nullptr;
}

template <class Visit>
void Graph::for_each_target(const Block& block, Visit&& visit) const {
  memory_.clip(block.start, block.start + block.bytes, [&](Address from, Address to) {
    for (Address a = align_up(from, kWord); a + kWord <= to; a += kWord) {
      const size_t target = blocks_.find(word_at(a));
      if (target != Blocks::kNone && target != block.number) visit(target);
    }
  });
}

void Graph::reach_word(Address word) {
  const size_t number = blocks_.find(word);
  if (number == Blocks::kNone || blocks_.state(number) != State::kLive) return;
  blocks_.set(number, State::kReached);
  push(number);
  flood();
}

void Graph::flood() {
  while (pending_count_ != 0) {
    for_each_target(blocks_.at(pending_[--pending_count_]), [this](size_t target) {
      if (blocks_.state(target) != State::kLive) return;
      blocks_.set(target, State::kReached);
      push(target);
    });
  }
}

void Graph::reach_range(Address start, Address end) {
  for (Address a = align_up(start, kWord); a + kWord <= end; a += kWord) reach_word(word_at(a));
}

// Gives the state `to` to all blocks in one of two states that are reached from the root through such blocks.
void Graph::spread(size_t root, State from_one, State from_other, State to) {
  push(root);
  while (pending_count_ != 0) {
    for_each_target(blocks_.at(pending_[--pending_count_]), [&](size_t target) {
      const State state = blocks_.state(target);
      if (target == root || (state != from_one && state != from_other)) return;
      blocks_.set(target, to);
      push(target);
    });
  }
}

// After the first pass, no leaked block points at the blocks that are still kLive. The blocks that those do not hold
// are rings, with what hangs on them. Each of these becomes a candidate unless an earlier candidate reaches it, and
// remains one unless a later candidate reaches it. The candidates that remain become roots.
void Graph::find_roots() {
  const size_t numbers = blocks_.numbers();
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kLive && blocks_.state(i) != State::kHeld) continue;
    for_each_target(blocks_.at(i), [this](size_t target) {
      if (blocks_.state(target) == State::kLive) blocks_.set(target, State::kHeld);
    });
  }
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kLive) continue;
    blocks_.set(i, State::kRoot);
    spread(i, State::kHeld, State::kHeld, State::kGrouped);
  }
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kHeld) continue;
    blocks_.set(i, State::kCandidate);
    spread(i, State::kHeld, State::kCandidate, State::kGrouped);
  }
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) == State::kCandidate) blocks_.set(i, State::kRoot);
  }
}

void Graph::take_all_as_roots() {
  for (size_t i = 0; i < blocks_.numbers(); ++i) {
    if (blocks_.state(i) == State::kLive) blocks_.set(i, State::kRoot);
  }
}

void Graph::add(const profile::Stack* root, const profile::Stack* stack, bool direct, size_t bytes) {
  uint64_t hash = (address_of(root) * 31 + address_of(stack)) * 2 + direct;
  hash = (hash * kHashFactor) >> 20;
  for (;; ++hash) {
    Leak& leak = leaks_[hash & (places_ - 1)];
    if (leak.blocks == 0) leak = {root, stack, direct, 0, 0};
    if (leak.root != root || leak.stack != stack || leak.direct != direct) continue;
    ++leak.blocks;
    leak.bytes += bytes;
    return;
  }
}

// A block that several roots hold counts for the first of them.
bool Graph::sum_up(Room& room) {
  size_t leaked = 0;
  const size_t numbers = blocks_.numbers();
  const auto is_leaked = [this](size_t i) {
    return blocks_.state(i) == State::kRoot || blocks_.state(i) == State::kGrouped;
  };
  for (size_t i = 0; i < numbers; ++i) leaked += is_leaked(i);
  places_ = size_t{4} << floor_log2(leaked + 1);
  leaks_ = room.take<Leak>(places_);
  if (leaks_ == nullptr) return false;
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kRoot) continue;
    const Block root = blocks_.at(i);
    root_stack_ = profile::origin_of(root.ticket).stack;
    add(root_stack_, root_stack_, true, root.bytes);
    push(i);
    while (pending_count_ != 0) {
      for_each_target(blocks_.at(pending_[--pending_count_]), [this](size_t target) {
        if (blocks_.state(target) != State::kGrouped) return;
        blocks_.set(target, State::kHeld);  // counted
        const Block block = blocks_.at(target);
        add(root_stack_, profile::origin_of(block.ticket).stack, false, block.bytes);
        push(target);
      });
    }
  }
  return true;
}

}  // namespace acre::leaks
