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
      if (target != Blocks::kNone && target != block.number) visit(target, a - block.start);
    }
  });
}

template <class Visit>
void Graph::visit_from(size_t first, Visit&& visit) {
  push(first);
  while (pending_count_ != 0) for_each_target(blocks_.at(pending_[--pending_count_]), visit);
}

void Graph::reach_word(Address word) {
  const size_t number = blocks_.find(word);
  if (number == Blocks::kNone) return;
  const State before = blocks_.state(number);
  blocks_.set(number, State::kRooted);
  if (before != State::kLive) return;
  visit_from(number, [this](size_t target, size_t) {
    if (blocks_.state(target) != State::kLive) return;
    blocks_.set(target, State::kReached);
    push(target);
  });
}

void Graph::reach_range(Address start, Address end) {
  for (Address a = align_up(start, kWord); a + kWord <= end; a += kWord) reach_word(word_at(a));
}

// Gives the state `to` to all blocks in one of two states that are reached from the root through such blocks.
void Graph::spread(size_t root, State from_one, State from_other, State to) {
  visit_from(root, [&](size_t target, size_t) {
    const State state = blocks_.state(target);
    if (target == root || (state != from_one && state != from_other)) return;
    blocks_.set(target, to);
    push(target);
  });
}

// After the first pass, no leaked block points at the blocks that are still kLive. The blocks that those do not hold
// are rings, with what hangs on them. Each of these becomes a candidate unless an earlier candidate reaches it, and
// remains one unless a later candidate reaches it. The candidates that remain become roots.
void Graph::find_roots() {
  const size_t numbers = blocks_.numbers();
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kLive && blocks_.state(i) != State::kHeld) continue;
    for_each_target(blocks_.at(i), [this](size_t target, size_t) {
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

namespace {

// Pointers at one offset in small blocks of one class, to small blocks of another class.
struct Field {
  uint32_t from;    // the class, plus 1. 0: the place is empty
  uint32_t to;
  uint32_t offset;
  uint32_t pointers;
};

class Fields {
 public:
  bool prepare(Room& room) { return (field_ = room.take<Field>(kPlaces)) != nullptr; }

  void add(SizeClass from, SizeClass to, size_t offset) {
    if (Field* field = find(from, to, offset)) ++field->pointers;
  }
  // Without room for it, a field counts as one that all blocks have.
  uint32_t count(SizeClass from, SizeClass to, size_t offset) {
    const Field* field = find(from, to, offset);
    return field == nullptr ? UINT32_MAX : field->pointers;
  }

 private:
  static constexpr size_t kPlaces = size_t{1} << 16;
  static constexpr size_t kMostUsed = kPlaces / 4 * 3;

  Field* find(SizeClass from, SizeClass to, size_t offset) {
    const Field wanted = {uint32_t{from} + 1, to, static_cast<uint32_t>(offset), 0};
    const uint64_t key = (uint64_t{wanted.from} << 32 | uint64_t{wanted.to} << 16) + offset;
    for (uint64_t hash = (key * kHashFactor) >> 40;; ++hash) {
      Field& field = field_[hash % kPlaces];
      if (field.from == wanted.from && field.to == wanted.to && field.offset == wanted.offset) return &field;
      if (field.from != 0) continue;
      if (used_ == kMostUsed) return nullptr;
      ++used_;
      field = wanted;
      return &field;
    }
  }

  Field* field_ = nullptr;
  size_t used_ = 0;
};

}  // namespace

bool Graph::count_doubtful(Room& room, uint64_t* blocks) {
  Fields fields;
  if (!fields.prepare(room)) return false;
  bool leaks[kSmallClasses] = {};
  uint32_t reached[kSmallClasses] = {};  // blocks
  for (size_t i = 0; i < blocks_.numbers(); ++i) {
    const SizeClass c = is_leaked(i) || is_reached(i) ? class_of(i) : kSmallClasses;
    if (c == kSmallClasses) continue;
    if (is_reached(i)) ++reached[c];
    if (is_leaked(i)) leaks[c] = true;
  }
  const auto for_each_pointer = [&](auto&& visit) {
    for (size_t i = 0; i < blocks_.numbers(); ++i) {
      if (!is_reached(i)) continue;
      const SizeClass from = class_of(i);
      for_each_target(blocks_.at(i), [&](size_t target, size_t offset) {
        const SizeClass to = is_reached(target) ? class_of(target) : kSmallClasses;
        if (to != kSmallClasses && leaks[to]) visit(from, to, offset, target);
      });
    }
  };
  for_each_pointer([&](SizeClass from, SizeClass to, size_t offset, size_t) {
    if (from != kSmallClasses) fields.add(from, to, offset);
  });
  for_each_pointer([&](SizeClass from, SizeClass to, size_t offset, size_t target) {
    const bool may_be_left = from != kSmallClasses && fields.count(from, to, offset) * uint64_t{10} < reached[from] * 9;
    if (!may_be_left) blocks_.set(target, State::kRooted);
    if (blocks_.state(target) == State::kReached) blocks_.set(target, State::kDoubtful);
  });
  for (size_t i = 0; i < blocks_.numbers(); ++i) *blocks += blocks_.state(i) == State::kDoubtful;
  return true;
}

void Graph::add(const profile::Stack* root, const profile::Stack* stack, bool direct, size_t bytes) {
  const size_t block_bytes = bytes <= kSmallMax ? bytes : size_t{1} << floor_log2(bytes);
  uint64_t hash = ((address_of(root) * 31 + address_of(stack)) * 31 + block_bytes) * 2 + direct;
  hash = (hash * kHashFactor) >> 20;
  for (;; ++hash) {
    Leak& leak = leaks_[hash & (places_ - 1)];
    if (leak.blocks == 0) leak = {root, stack, direct, block_bytes, 0, 0};
    if (leak.root != root || leak.stack != stack || leak.direct != direct || leak.block_bytes != block_bytes) continue;
    ++leak.blocks;
    leak.bytes += bytes;
    return;
  }
}

// A block that several roots hold counts for the first of them.
bool Graph::sum_up(Room& room) {
  size_t leaked = 0;
  const size_t numbers = blocks_.numbers();
  for (size_t i = 0; i < numbers; ++i) leaked += is_leaked(i);
  places_ = size_t{4} << floor_log2(leaked + 1);
  leaks_ = room.take<Leak>(places_);
  if (leaks_ == nullptr) return false;
  for (size_t i = 0; i < numbers; ++i) {
    if (blocks_.state(i) != State::kRoot) continue;
    const Block root = blocks_.at(i);
    const profile::Stack* root_stack = profile::origin_of(root.ticket).stack;
    add(root_stack, root_stack, true, root.bytes);
    visit_from(i, [&](size_t target, size_t) {
      if (blocks_.state(target) != State::kGrouped) return;
      blocks_.set(target, State::kHeld);  // counted
      const Block block = blocks_.at(target);
      add(root_stack, profile::origin_of(block.ticket).stack, false, block.bytes);
      push(target);
    });
  }
  return true;
}

}  // namespace acre::leaks
