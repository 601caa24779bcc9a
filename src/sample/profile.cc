#include "sample/profile.h"

#include "base/fatal.h"
#include "base/probes.h"
#include "cache/lookup.h"
#include "observe/sampler.h"
#include "os/os.h"
#include "pages/huge.h"
#include "pages/metadata.h"
#include "pages/on_growth.h"
#include "pages/window.h"
#include "sample/at_work.h"
#include "sample/clock.h"
#include "sample/held.h"
#include "sample/postmortem.h"
#include "sample/random.h"
#include "sample/samples.h"
#include "tables/options.h"

namespace acre::profile {

namespace {

constexpr size_t kRoomStep = size_t{64} << 10;

constinit std::atomic<uint64_t> g_mean{0};
constinit std::atomic<bool> g_prepared{false};
constinit std::atomic<bool> g_active{false};
constinit std::atomic<uint32_t> g_epoch{1};

// When a profile is due.
constinit std::atomic<uint64_t> g_interval{0};
constinit std::atomic<bool> g_at_new_maximum{false};
constinit std::atomic<size_t> g_maximum{0};  // of mapped bytes
constinit std::atomic<void (*)()> g_ask{nullptr};

constinit Mutex g_lock{Rank::kSamples};
constinit Stacks g_stacks ACRE_GUARDED_BY(g_lock);
constinit Samples g_samples ACRE_GUARDED_BY(g_lock);
constinit Totals g_totals ACRE_GUARDED_BY(g_lock);
constinit double g_due_at ACRE_GUARDED_BY(g_lock) = 0;    // allocated bytes at the interval's end
constinit uint64_t g_peak ACRE_GUARDED_BY(g_lock) = 0;    // number of peaks so far
constinit uint32_t g_resets ACRE_GUARDED_BY(g_lock) = 0;

bool need_room() {
  Lock lock(g_lock);
  return !g_stacks.has_room();
}

bool grow_tables() {
  if (!need_room()) return true;
  void* memory = metadata::allocate(kRoomStep);
  if (memory == nullptr) return false;
  Lock lock(g_lock);
  g_stacks.add_room(memory, kRoomStep);
  return true;
}

bool make_places() {
  unsigned chunk;
  {
    Lock lock(g_lock);
    if (g_samples.has_free()) return true;
    if (!g_samples.may_grow()) return false;
    chunk = g_samples.chunks();
  }
  void* memory = metadata::allocate(Samples::bytes_of(chunk));
  if (memory == nullptr) return false;
  Lock lock(g_lock);
  g_samples.add_chunk(chunk, memory);  // if another thread was faster, this memory is lost
  return true;
}

void add(Sums& sums, const Sample& sample) {
  ++sums.blocks;
  sums.bytes += sample.bytes;
  sums.estimated_blocks += sample.weight;
  sums.estimated_bytes += sample.weight * static_cast<double>(sample.bytes);
}

// The last block leaves exactly 0, without rounding errors.
void subtract(Sums& sums, const Sample& sample) {
  if (--sums.blocks == 0) {
    sums = {};
    return;
  }
  sums.bytes -= sample.bytes;
  sums.estimated_blocks -= sample.weight;
  sums.estimated_bytes -= sample.weight * static_cast<double>(sample.bytes);
}

// Saves the live sums of the last peak when they are about to change. A new peak itself costs only an increment.
void keep_peak(Stack* stack) ACRE_REQUIRES(g_lock) {
  if (stack->peak == g_peak) return;
  stack->peak = g_peak;
  stack->sums.live_at_peak = stack->sums.live;
}

void count_in(const Sample& sample) ACRE_REQUIRES(g_lock) {
  keep_peak(sample.stack);
  add(sample.stack->sums.allocated, sample);
  add(sample.stack->sums.live, sample);
  add(g_totals.allocated, sample);
  add(g_totals.live, sample);
  if (g_totals.live.estimated_bytes <= g_totals.peak_bytes) return;
  g_totals.peak_bytes = g_totals.live.estimated_bytes;
  ++g_peak;
}

void count_out(const Sample& sample, ThreadToken by, uint64_t now_ms) ACRE_REQUIRES(g_lock) {
  keep_peak(sample.stack);
  StackSums& sums = sample.stack->sums;
  subtract(sums.live, sample);
  subtract(g_totals.live, sample);
  ++sums.freed;
  const bool elsewhere = sample.thread != by;
  sums.freed_elsewhere += elsewhere;
  const uint64_t ms = now_ms - smaller(now_ms, sample.time_ms);
  Freed& freed = sums.freed_after[static_cast<unsigned>(lifetime_of(ms))][elsewhere];
  freed.blocks += sample.weight;
  freed.bytes += sample.weight * static_cast<double>(sample.bytes);
  freed.ms += sample.weight * static_cast<double>(ms);
}

// Returns true, and begins a new interval, when an interval of allocated bytes has passed.
bool is_due() ACRE_REQUIRES(g_lock) {
  const uint64_t interval = g_interval.load(std::memory_order_relaxed);
  if (ACRE_LIKELY(interval == 0) || g_totals.allocated.estimated_bytes < g_due_at) return false;
  g_due_at = g_totals.allocated.estimated_bytes + static_cast<double>(interval);
  return true;
}

void ask() {
  if (const auto ask = g_ask.load()) ask();
}

// The number of equal blocks that one sampled block of this size stands for.
double weight_of(size_t bytes) {
  const uint64_t mean = g_mean.load(std::memory_order_relaxed);
  if (mean == 0) return 1;
  return 1 / random::one_minus_exp(static_cast<double>(bytes) / static_cast<double>(mean));
}

Ticket record(Sample& sample, const Trace& trace, bool* due) {
  if (postmortem::lacks_room()) postmortem::make_room();
  for (;;) {
    {
      Lock lock(g_lock);
      if (g_samples.has_free() && g_stacks.has_room()) {
        sample.stack = g_stacks.find(trace);
        sample.reset = g_resets;
        const Ticket ticket = g_samples.take();
        g_samples.at(ticket) = sample;
        count_in(sample);
        postmortem::write(*sample.stack, g_peak, g_stacks.first());
        *due = is_due();
        return ticket;
      }
    }
    if (!make_places() || !grow_tables()) return kNoTicket;
  }
}

Ticket allocated(const void* block, size_t bytes, Address beside) {
  const AtWork at_work;
  if (at_work.is_inner()) return kNoTicket;
  Trace trace = take_trace();
  Sample sample;
  sample.bytes = bytes;
  sample.weight = weight_of(bytes);
  sample.thread = this_thread();
  sample.time_ms = os::now_ms();
  sample.place = g_mean.load(std::memory_order_relaxed) == 0 ? address_of(block) : beside;
  const Heap* heap = heap_if_any();
  sample.epoch = heap != nullptr && heap->ignored_leaks != 0 ? 0 : g_epoch.load(std::memory_order_relaxed);
  bool due = false;
  const Ticket ticket = record(sample, trace, &due);
  if (ticket != kNoTicket) {
    capture::Frames& native = trace.native;
    if (auto hook = sampler::g_on_sampled.load()) {
      const size_t usable = block_bytes(find_block(block));  // more than `bytes` if it has whole pages (allocate_seen)
      hook(block, usable, native.pointers(), native.count, usable);
    }
    probes::alloc(block, bytes, static_cast<uint64_t>(sample.weight * static_cast<double>(bytes) + 0.5));
  }
  if (due) ask();
  return ticket;
}

void freed(Ticket ticket) {
  const uint64_t now_ms = os::now_ms();
  Lock lock(g_lock);
  const Sample& sample = g_samples.at(ticket);
  if (sample.reset == g_resets) {
    count_out(sample, this_thread(), now_ms);
    postmortem::write(*sample.stack, g_peak, g_stacks.first());
  }
  g_samples.drop(ticket);
}

constexpr sampler::Sampler kSampler{clock::gap, allocated, freed, clock::due};

void count_growth(const Trace& trace, size_t bytes) {
  do {
    Lock lock(g_lock);
    if (!g_stacks.has_room()) continue;
    Stack* stack = g_stacks.find(trace);
    ++stack->sums.grown;
    stack->sums.grown_bytes += bytes;
    postmortem::write(*stack, g_peak, g_stacks.first());
    ++g_totals.grown;
    g_totals.grown_bytes += bytes;
    return;
  } while (grow_tables());
}

bool is_new_maximum() {
  const size_t now = window::mapped_bytes() + huge::counts().bytes;
  size_t before = g_maximum.load(std::memory_order_relaxed);
  while (now > before) {
    if (g_maximum.compare_exchange_weak(before, now, std::memory_order_relaxed)) return true;
  }
  return false;
}

void grew(size_t bytes) {
  const AtWork at_work;
  if (at_work.is_inner()) return;
  const Trace trace = take_trace();
  count_growth(trace, bytes);
  if (g_at_new_maximum.load(std::memory_order_relaxed) && is_new_maximum()) ask();
}

}  // namespace

void count_held() {
  Lock lock(g_lock);
  const held::Place is = g_mean.load(std::memory_order_relaxed) == 0 ? held::Place::kItsOwn : held::Place::kBeside;
  for (Stack* stack = g_stacks.first(); stack != nullptr; stack = stack->next) stack->sums.held_bytes = 0;
  g_samples.for_each([is](const Sample& sample) ACRE_NO_THREAD_SAFETY_ANALYSIS {
    if (sample.reset != g_resets) return;
    sample.stack->sums.held_bytes += sample.weight * held::bytes(sample.bytes, sample.place, is);
  });
}

StackSums sums_of(const Stack* stack) {
  Lock lock(g_lock);
  StackSums sums = stack->sums;
  if (stack->peak != g_peak) sums.live_at_peak = sums.live;
  return sums;
}

const Stack* next(const Stack* stack) {
  Lock lock(g_lock);
  return stack == nullptr ? g_stacks.first() : stack->next;
}

Totals totals() {
  Lock lock(g_lock);
  Totals totals = g_totals;
  totals.stacks = g_stacks.count();
  totals.full = g_stacks.count() >= kMostStacks;
  return totals;
}

Origin origin_of(Ticket ticket) ACRE_NO_THREAD_SAFETY_ANALYSIS {
  if (!g_samples.has(ticket)) return {};
  const Sample& sample = g_samples.at(ticket);
  return {sample.stack, sample.epoch};
}

uint32_t next_epoch() { return g_epoch.fetch_add(1) + 1; }

bool prepare(uint64_t mean) {
  if (g_prepared.load()) return true;
  random::seed(0);
  capture::prepare();
  g_explain = guard::explain;
  python::set_active(options().prof_python);
  void* buckets = metadata::allocate(Stacks::kBucketBytes);
  if (buckets == nullptr) return false;
  {
    Lock lock(g_lock);
    g_stacks.set_buckets(buckets);
  }
  if (!grow_tables() || !make_places()) return false;
  g_mean.store(mean);
  postmortem::note_mean(mean);
  g_prepared.store(true);
  return true;
}

bool is_prepared() { return g_prepared.load(); }

void set_active(bool active) {
  if (!is_prepared() || g_active.exchange(active) == active) return;
  on_growth::g_hook.store(active ? grew : nullptr, std::memory_order_release);
  start_or_stop();
}

void start_or_stop() {
  if (!is_active() && !clock::has_guards()) return sampler::stop();
  sampler::start(kSampler, is_active() ? SIZE_MAX : clock::kMostGuarded);
}

bool is_active() { return g_active.load(); }

void reset(uint64_t mean) {
  {
    Lock lock(g_lock);
    for (Stack* stack = g_stacks.first(); stack != nullptr; stack = stack->next) {
      stack->sums = {};
      stack->peak = 0;
    }
    g_totals = {};
    g_due_at = static_cast<double>(g_interval.load(std::memory_order_relaxed));
    g_peak = 0;
    postmortem::write_all(g_stacks.first());
    ++g_resets;
  }
  g_mean.store(mean);
  postmortem::note_mean(mean);
  if (is_active()) start_or_stop();
}

uint64_t mean() { return g_mean.load(); }

void set_interval(uint64_t bytes) {
  Lock lock(g_lock);
  g_interval.store(bytes);
  g_due_at = g_totals.allocated.estimated_bytes + static_cast<double>(bytes);
}

void set_at_new_maximum(bool on) {
  if (on) is_new_maximum();  // the present size is not a new maximum
  g_at_new_maximum.store(on);
}
bool is_at_new_maximum() { return g_at_new_maximum.load(); }
void on_due(void (*ask)()) { g_ask.store(ask); }

}  // namespace acre::profile

void acre::sampler::sample_at_fork(ForkStage stage) {
  profile::g_lock.at_fork(stage);
  python::at_fork(stage);
  guard::at_fork(stage);
  if (stage == ForkStage::kInChild) AtWork::after_fork_in_child();
}
