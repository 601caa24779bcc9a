// The heap profile: a sample of the program's blocks, and the stacks that allocated them.
//
// Each block is sampled with the probability 1 - exp(-size/mean), independently of all others: as if points were
// strewn over all allocated bytes at random, on average one in `mean` bytes, and a block with a point in it was taken.
// So a sample stands for 1 / (1 - exp(-size/mean)) blocks of its size. docs/profiling.md has the mathematics.
//
// A stack that was ever sampled is kept, in memory that never goes back, up to a bound; what is sampled beyond it is
// counted for one stack without frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "base/units.h"
#include "pages/run.h"

namespace acre::profile {

inline constexpr unsigned kMostStacks = 1u << 16;

// Blocks and bytes: sampled ones, and how many they stand for.
struct Sums {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  double estimated_blocks = 0;
  double estimated_bytes = 0;
};

// How long a block lived, and who freed it.
enum class Lifetime : uint8_t { kShort, kMedium, kLong };
inline constexpr unsigned kLifetimes = 3;
inline constexpr uint64_t kMediumFromMs = 100, kLongFromMs = 10000;
Lifetime lifetime_of(uint64_t ms);
enum class FreedBy : uint8_t { kSameThread, kOtherThread };  // as the one that allocated it

// Estimates of freed blocks.
struct Freed {
  double blocks = 0;
  double bytes = 0;
  double ms = 0;  // of their lives together
};

// What the profile says about one stack, of one moment.
struct StackSums {
  Sums allocated;      // since the start, or the last reset()
  Sums live;           // of these, not freed yet
  Sums live_at_peak;   // the same, when the estimate of live bytes was the highest
  uint64_t freed = 0;  // sampled blocks
  uint64_t freed_elsewhere = 0;  // of them by another thread than the one that allocated them
  Freed freed_after[kLifetimes][2];  // by Lifetime and FreedBy
  double held_bytes = 0;         // estimate, of the last count_held()
  uint64_t grown = 0;            // how often address space had to be got for it
  uint64_t grown_bytes = 0;      // exactly
};

struct Stack;
unsigned frames_of(const Stack* stack, const Address** frames);  // innermost first
bool is_truncated(const Stack* stack);
StackSums sums_of(const Stack* stack);

// Works out what live blocks hold (held.h). Takes some 100 ns for each that is sampled, and lets nobody sample meanwhile.
void count_held();

// All stacks, one after the other: null is before the first and after the last. They stay.
const Stack* next(const Stack* stack);

// Where a live block is from, which the sampler knows by this ticket.
struct Origin {
  const Stack* stack = nullptr;  // null: it is not sampled
  uint32_t epoch = 0;            // when it was allocated; 0: by a thread that was ignored_leaks (Heap::ignored_leaks)
};
// Takes no lock: no thread may be sampling, or all others are stopped.
Origin origin_of(Ticket ticket);

// Epochs number stretches of time: begins a new one, and returns its number. The first is 1.
uint32_t next_epoch();

// --- Control ----------------------------------------------------------------------------------------------------

// Makes room for the tables and looks for an unwinder. Before the others; again is harmless. False when memory is
// refused. mean: bytes between samples; 0: every block is sampled.
bool prepare(uint64_t mean);
bool is_prepared();

// Begins and ends sampling. Samples stay.
void set_active(bool active);
bool is_active();

// Forgets all that was counted. What is live now is no longer followed.
void reset(uint64_t mean);
uint64_t mean();

// What asks for a profile to be written: each `interval` bytes allocated, by the estimate (0: no), and, with
// at_new_maximum, each time more address space is got than there ever was. `ask` is called then, in the middle of an
// allocation, with no lock held: it must not allocate, nor take long.
void set_interval(uint64_t bytes);
void set_at_new_maximum(bool on);
bool is_at_new_maximum();
void on_due(void (*ask)());

struct Totals {
  Sums allocated, live;
  uint64_t grown = 0, grown_bytes = 0;
  double peak_bytes = 0;  // estimate
  unsigned stacks = 0;
  bool full = false;      // the bound on stacks was reached
};
Totals totals();

}  // namespace acre::profile
