#include "sample/stacks.h"

#include <new>

#include "base/hash.h"

namespace acre::profile {

namespace {

uint64_t hash_of(const capture::Frames& frames) {
  uint64_t hash = frames.truncated;
  for (unsigned i = 0; i < frames.count; ++i) {
    hash = (hash ^ frames.address[i]) * kHashFactor;
    hash ^= hash >> 29;
  }
  return hash;
}

bool same(const Stack* stack, const capture::Frames& frames) {
  if (stack->count != frames.count || stack->truncated != frames.truncated) return false;
  for (unsigned i = 0; i < frames.count; ++i) {
    if (stack->frames()[i] != frames.address[i]) return false;
  }
  return true;
}

}  // namespace

unsigned frames_of(const Stack* stack, const Address** frames) {
  *frames = stack->frames();
  return stack->count;
}

bool is_truncated(const Stack* stack) { return stack->truncated; }

void Stacks::add_room(void* memory, size_t bytes) {
  if (room_.left() >= bytes) return;
  room_.next = static_cast<char*>(memory);
  room_.end = room_.next + bytes;
}

Stack* Stacks::find(const capture::Frames& frames) {
  const uint64_t hash = hash_of(frames);
  for (Stack* stack = buckets_[hash % kBuckets]; stack != nullptr; stack = stack->next_alike) {
    if (stack->hash == hash && same(stack, frames)) return stack;
  }
  if (count_ < kMostStacks) return add(frames, hash);
  capture::Frames none;
  none.truncated = true;
  const uint64_t hash_of_none = hash_of(none);
  for (Stack* stack = buckets_[hash_of_none % kBuckets]; stack != nullptr; stack = stack->next_alike) {
    if (same(stack, none)) return stack;
  }
  return add(none, hash_of_none);
}

Stack* Stacks::add(const capture::Frames& frames, uint64_t hash) {
  Stack* stack = new (room_.cut(sizeof(Stack) + frames.count * sizeof(Address))) Stack;
  stack->hash = hash;
  stack->count = frames.count;
  stack->truncated = frames.truncated;
  for (unsigned i = 0; i < frames.count; ++i) stack->frames()[i] = frames.address[i];
  stack->next_alike = buckets_[hash % kBuckets];
  buckets_[hash % kBuckets] = stack;
  (last_ == nullptr ? first_ : last_->next) = stack;
  last_ = stack;
  ++count_;
  return stack;
}

}  // namespace acre::profile
