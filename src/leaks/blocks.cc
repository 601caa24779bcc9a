#include "leaks/blocks.h"

#include "cache/lookup.h"
#include "cache/sampled_run.h"
#include "pages/page_map.h"
#include "slab/purge.h"

namespace acre::leaks {

namespace {

bool is_free_in(const Slab* slab, const void* block) {
  return slab::is_uncut(slab, block) || seems_free(slab, block);
}

bool is_free_in(const SampledRun& sampled, uint32_t index) {
  constexpr uint32_t kWordBits = 64;
  return (sampled.free_bits[index / kWordBits] >> index % kWordBits & 1) != 0;
}

}  // namespace

void Blocks::add(const Run* run) {
  if (spans_ == most_spans_) return;
  Span span = {run->base, run->end(), numbers_, 0, 0, run};
  switch (run->kind) {
    case RunKind::kSlab:
      if (run->slab == nullptr || run->slab->base != run->base || run->slab->block_bytes == 0) break;
      span.block_bytes = run->slab->block_bytes;
      span.blocks = smaller<uint32_t>(run->slab->carved, run->slab->capacity);
      break;
    case RunKind::kSampled:
      if (!sampled_runs::is_of(run->sampled, run)) break;
      span.base = run->sampled->base;
      span.block_bytes = run->sampled->block_bytes;
      span.blocks = run->sampled->capacity;
      break;
    case RunKind::kLarge:
    case RunKind::kHuge:
      span.block_bytes = run->bytes();
      span.blocks = 1;
      break;
    default: break;
  }
  numbers_ += span.blocks;
  span_[spans_++] = span;
}

void Blocks::fill_states(const Span& span) {
  for (uint32_t i = 0; i < span.blocks; ++i) {
    const void* block = pointer_to(span.base + i * span.block_bytes);
    if (span.run->kind == RunKind::kSlab && is_free_in(span.run->slab, block)) continue;
    if (span.run->kind == RunKind::kSampled && is_free_in(*span.run->sampled, i)) continue;
    states_[span.first + i] = State::kLive;
    ++live_blocks_;
    live_bytes_ += span.block_bytes;
  }
}

bool Blocks::fill(Room& room) {
  g_page_map.for_each_run([this](const Run*) { ++most_spans_; });
  span_ = room.take<Span>(most_spans_);
  if (span_ == nullptr) return false;
  g_page_map.for_each_run([this](const Run* run) { add(run); });
  states_ = room.take<State>(numbers_);
  if (states_ == nullptr) return false;
  for (size_t i = 0; i < spans_; ++i) fill_states(span_[i]);
  return true;
}

// Spans are in the order of addresses.
const Blocks::Span* Blocks::span_of(Address a) const {
  if (spans_ == 0 || a < span_[0].base || a >= span_[spans_ - 1].end) return nullptr;
  const Span& span = span_[last_below(spans_, [&](size_t i) { return span_[i].base <= a; })];
  return a < span.end ? &span : nullptr;
}

size_t Blocks::find(Address a) const {
  const Span* span = span_of(a);
  if (span == nullptr || span->blocks == 0) return kNone;
  const size_t index = (a - span->base) / span->block_bytes;
  if (index >= span->blocks || states_[span->first + index] == State::kFree) return kNone;
  return span->first + index;
}

Block Blocks::at(size_t number) const {
  const Span& span = span_[last_below(spans_, [&](size_t i) { return span_[i].first <= number; })];
  const size_t index = number - span.first;
  Ticket ticket = kNoTicket;
  if (span.run->kind == RunKind::kSampled) ticket = span.run->sampled->tickets[index];
  if (span.run->kind == RunKind::kLarge || span.run->kind == RunKind::kHuge) ticket = span.run->ticket;
  return {span.base + index * span.block_bytes, span.block_bytes, number, ticket};
}

}  // namespace acre::leaks
