// The heap profile: a sample of the program's blocks, and the stacks that allocated them.
//
// Each block is sampled with the probability 1 - exp(-size/mean), independently of all others. This is as if points lay
// at random over all allocated bytes, on average one in `mean` bytes, and each block with a point in it were sampled. A
// sample therefore stands for 1 / (1 - exp(-size/mean)) blocks of its size. docs/profiling.md has the mathematics.
//
// A sampled stack is kept for ever, in memory that never goes back. Samples of further stacks beyond kMostStacks are
// counted for one stack without frames.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/mutex.h"
#include "base/units.h"
#include "pages/run.h"

namespace acre::python {
class Frame;
}

namespace acre::profile {

inline constexpr unsigned kMostStacks = 1u << 16;

// Sampled blocks and their bytes, and estimates of all blocks and bytes that these samples stand for.
struct Sums {
  uint64_t blocks = 0;
  uint64_t bytes = 0;
  double estimated_blocks = 0;
  double estimated_bytes = 0;
};

enum class Lifetime : uint8_t { kShort, kMedium, kLong };
inline constexpr unsigned kLifetimes = 3;
inline constexpr uint64_t kMediumFromMs = 100, kLongFromMs = 10000;
Lifetime lifetime_of(uint64_t ms);
enum class FreedBy : uint8_t { kSameThread, kOtherThread };  // compared with the thread that allocated the block

// Estimates of freed blocks.
struct Freed {
  double blocks = 0;
  double bytes = 0;
  double ms = 0;  // the sum of their lifetimes
};

// The figures of one stack at one moment.
struct StackSums {
  Sums allocated;      // since the start, or the last reset()
  Sums live;           // allocated and not freed yet
  Sums live_at_peak;   // live, when the estimate of all live bytes was the highest
  uint64_t freed = 0;  // sampled blocks
  uint64_t freed_elsewhere = 0;  // sampled blocks that another thread freed than the one that allocated them
  Freed freed_after[kLifetimes][2];  // by Lifetime and FreedBy
  double held_bytes = 0;         // estimate of the last count_held()
  uint64_t grown = 0;            // how often this stack got address space from the system
  uint64_t grown_bytes = 0;      // exact
};

struct Stack;
unsigned frames_of(const Stack* stack, const Address** frames);  // innermost first
unsigned python_frames_of(const Stack* stack, const python::Frame** frames);  // python.h
bool is_truncated(const Stack* stack);
StackSums sums_of(const Stack* stack);

// Computes held_bytes (held.h) of all stacks. Takes some 100 ns for each live sample, and blocks sampling meanwhile.
void count_held();

// Returns the next stack, the first one for null, and null after the last one. Stacks are never removed.
const Stack* next(const Stack* stack);

// Where a live block with a ticket was allocated.
struct Origin {
  const Stack* stack = nullptr;  // null: the block is not sampled
  uint32_t epoch = 0;            // when it was allocated; 0: by a thread that ignored leaks (Heap::ignored_leaks)
};
// Takes no lock: no thread may be sampling, or all other threads are stopped.
Origin origin_of(Ticket ticket);

// Begins a new epoch, a numbered period of time, and returns its number. The first epoch is 1.
uint32_t next_epoch();

// --- Control ----------------------------------------------------------------------------------------------------

// Allocates the tables and looks for an unwinder. Must come before the functions below; a second call does nothing.
// Returns false if memory is refused. mean: average bytes between samples; 0: every block is sampled.
bool prepare(uint64_t mean);
bool is_prepared();

// Starts or stops sampling. Existing samples stay.
void set_active(bool active);
bool is_active();

// Starts or stops the sampler, or makes it draw anew, after a change of what its clock counts (clock.h).
void start_or_stop();

// Sets all counts to 0. Blocks that are live now are no longer counted.
void reset(uint64_t mean);
uint64_t mean();

// Sets when a profile is due: each `interval` bytes allocated, by the estimate (0: never), and, with at_new_maximum,
// each time the address space in use exceeds its former maximum. `ask` is called when a profile is due, in the middle
// of an allocation and with no lock held. It must not allocate nor take long.
void set_interval(uint64_t bytes);
void set_at_new_maximum(bool on);
bool is_at_new_maximum();
void on_due(void (*ask)());

struct Totals {
  Sums allocated, live;
  uint64_t grown = 0, grown_bytes = 0;
  double peak_bytes = 0;  // estimate
  unsigned stacks = 0;
  bool full = false;      // kMostStacks was reached
};
Totals totals();

}  // namespace acre::profile
