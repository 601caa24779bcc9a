#include "sample/stacks.h"

#include <new>

#include "base/hash.h"

namespace acre::profile {

namespace {

bool is_truncated(const Trace& trace) { return trace.native.truncated || trace.python.truncated; }

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * kHashFactor;
  return hash ^ hash >> 29;
}

uint64_t hash_of(const Trace& trace) {
  uint64_t hash = is_truncated(trace);
  for (unsigned i = 0; i < trace.native.count; ++i) hash = mixed(hash, trace.native.address[i]);
  for (unsigned i = 0; i < trace.python.count; ++i) hash = mixed(hash, trace.python.frame[i].word());
  return hash;
}

bool same(const Stack* stack, const Trace& trace) {
  if (stack->count != trace.native.count || stack->python_count != trace.python.count ||
      stack->truncated != is_truncated(trace)) {
    return false;
  }
  for (unsigned i = 0; i < trace.native.count; ++i) {
    if (stack->frames()[i] != trace.native.address[i]) return false;
  }
  for (unsigned i = 0; i < trace.python.count; ++i) {
    if (stack->python_frames()[i].word() != trace.python.frame[i].word()) return false;
  }
  return true;
}

}  // namespace

unsigned frames_of(const Stack* stack, const Address** frames) {
  *frames = stack->frames();
  return stack->count;
}

unsigned python_frames_of(const Stack* stack, const python::Frame** frames) {
  *frames = stack->python_frames();
  return stack->python_count;
}

bool is_truncated(const Stack* stack) { return stack->truncated; }

Lifetime lifetime_of(uint64_t ms) {
  return ms < kMediumFromMs ? Lifetime::kShort : ms < kLongFromMs ? Lifetime::kMedium : Lifetime::kLong;
}

void Stacks::add_room(void* memory, size_t bytes) {
  if (room_.left() >= bytes) return;
  room_.next = static_cast<char*>(memory);
  room_.end = room_.next + bytes;
}

Stack* Stacks::look_up(const Trace& trace, uint64_t hash) const {
  Stack* stack = buckets_[hash % kBuckets];
  while (stack != nullptr && (stack->hash != hash || !same(stack, trace))) stack = stack->next_alike;
  return stack;
}

Stack* Stacks::find(const Trace& trace) {
  const uint64_t hash = hash_of(trace);
  if (Stack* known = look_up(trace, hash)) return known;
  return count_ < kMostStacks ? add(trace, hash) : without_frames();
}

ACRE_COLD Stack* Stacks::without_frames() {
  Trace none;
  none.native.truncated = true;
  const uint64_t hash = hash_of(none);
  Stack* known = look_up(none, hash);
  return known != nullptr ? known : add(none, hash);
}

Stack* Stacks::add(const Trace& trace, uint64_t hash) {
  const size_t frames = trace.native.count + trace.python.count;
  Stack* stack = new (room_.cut(sizeof(Stack) + frames * sizeof(Address))) Stack;
  stack->hash = hash;
  stack->count = trace.native.count;
  stack->python_count = static_cast<uint16_t>(trace.python.count);
  stack->truncated = is_truncated(trace);
  for (unsigned i = 0; i < trace.native.count; ++i) stack->frames()[i] = trace.native.address[i];
  for (unsigned i = 0; i < trace.python.count; ++i) stack->python_frames()[i] = trace.python.frame[i];
  stack->next_alike = buckets_[hash % kBuckets];
  buckets_[hash % kBuckets] = stack;
  (last_ == nullptr ? first_ : last_->next) = stack;
  last_ = stack;
  ++count_;
  return stack;
}

}  // namespace acre::profile
