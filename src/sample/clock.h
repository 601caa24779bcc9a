// The clock that says which blocks are sampled, for the heap profile and for guards (guard/guards.h).
//
// Both want points at random over the allocated bytes, each at a rate of its own. The points of both together are as
// random, at the sum of the rates, so one clock serves both: the sampler draws gaps at that sum, and due() then draws
// whose points lie in the block. Each block is thus sampled for the profile with the probability that it has without
// guards, and the other way round.
#pragma once

#include <cstddef>
#include <cstdint>

namespace acre::clock {

inline constexpr size_t kMostGuarded = 4096;  // bytes: no larger block has points for guards

// mean: average bytes between guarded blocks, of the bytes of blocks that are small enough. 0: each such block is due.
// The sampler has to be started anew afterwards (profile::start_or_stop).
void set_guards(bool on, uint64_t mean);
bool has_guards();

// For sampler::Sampler.
uint64_t gap(size_t block_bytes);
uint8_t due(size_t block_bytes);

}  // namespace acre::clock
