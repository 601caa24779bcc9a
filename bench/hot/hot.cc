// The hot paths under Google Benchmark. Run by hand: any allocator may be preloaded, and this program
// links none.
//
//   LD_PRELOAD=build/release/libacre.so build/release/bench/acre_hot --benchmark_filter=pair
#include <benchmark/benchmark.h>
#include <sched.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

namespace {

using benchmark::State;

constexpr std::int64_t kSmallest = 8;
constexpr std::int64_t kLargest = 32 << 10;
constexpr std::size_t kPage = 4096;

// A caller writes to what it asked for: the first word, and one byte of every further page.
void touch(void* p, std::size_t size) {
  auto* bytes = static_cast<volatile char*>(p);
  for (std::size_t at = 0; at < size; at += kPage) bytes[at] = 1;
}

void* allocate(std::size_t size) {
  void* p = std::malloc(size);
  touch(p, size);
  return p;
}

std::size_t size_of(const State& state) { return static_cast<std::size_t>(state.range(0)); }

class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 2 + 1) {}

  std::uint32_t below(std::uint32_t bound) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(((state_ >> 32) * bound) >> 32);
  }

 private:
  std::uint64_t state_;
};

void pair(State& state) {
  const std::size_t size = size_of(state);
  for (auto _ : state) {
    void* p = allocate(size);
    benchmark::DoNotOptimize(p);
    std::free(p);
  }
  state.SetItemsProcessed(state.iterations());
}

void calloc_pair(State& state) {
  const std::size_t size = size_of(state);
  for (auto _ : state) {
    void* p = std::calloc(1, size);
    touch(p, size);
    benchmark::DoNotOptimize(p);
    std::free(p);
  }
  state.SetItemsProcessed(state.iterations());
}

enum class Order { kFirstFreedFirst, kLastFreedFirst, kShuffled };

// A thousand blocks, then a thousand frees.
void batch(State& state, Order order) {
  constexpr std::uint32_t kCount = 1000;
  const std::size_t size = size_of(state);
  std::array<std::uint32_t, kCount> turn;
  for (std::uint32_t k = 0; k < kCount; ++k) turn[k] = order == Order::kLastFreedFirst ? kCount - 1 - k : k;
  if (order == Order::kShuffled) {
    Random random(42);
    for (std::uint32_t k = kCount - 1; k > 0; --k) std::swap(turn[k], turn[random.below(k + 1)]);
  }

  std::array<void*, kCount> blocks;
  for (auto _ : state) {
    for (void*& block : blocks) block = allocate(size);
    for (std::uint32_t k : turn) std::free(blocks[k]);
  }
  state.SetItemsProcessed(state.iterations() * kCount);
}

// Ten thousand live blocks, a random one of them replaced by one of random size.
void replace(State& state, std::uint32_t smallest, std::uint32_t largest) {
  Random random(static_cast<std::uint64_t>(state.thread_index()) + 1);
  const auto any_size = [&] { return smallest + random.below(largest - smallest + 1); };
  std::vector<void*> slots(10000);
  for (void*& slot : slots) slot = allocate(any_size());
  for (auto _ : state) {
    void*& slot = slots[random.below(static_cast<std::uint32_t>(slots.size()))];
    std::free(slot);
    slot = allocate(any_size());
  }
  for (void* slot : slots) std::free(slot);
  state.SetItemsProcessed(state.iterations());
}

// A vector's life: doubled from 16 bytes to the largest size, then freed.
void realloc_growth(State& state) {
  const std::size_t last = size_of(state);
  for (auto _ : state) {
    char* p = nullptr;
    for (std::size_t size = 16; size <= last; size *= 2) {
      p = static_cast<char*>(std::realloc(p, size));
      p[size / 2] = 1;
    }
    benchmark::DoNotOptimize(p);
    std::free(p);
  }
  state.SetItemsProcessed(state.iterations());
}

// One ring between one thread that allocates and one that frees.
class Ring {
 public:
  void push(void* p) {
    const std::size_t at = head_.load(std::memory_order_relaxed);
    while (at - tail_.load(std::memory_order_acquire) == kSlots) sched_yield();
    slots_[at % kSlots] = p;
    head_.store(at + 1, std::memory_order_release);
  }

  void* pop() {
    const std::size_t at = tail_.load(std::memory_order_relaxed);
    while (head_.load(std::memory_order_acquire) == at) sched_yield();
    void* p = slots_[at % kSlots];
    tail_.store(at + 1, std::memory_order_release);
    return p;
  }

 private:
  static constexpr std::size_t kSlots = 512;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::array<void*, kSlots> slots_{};
};

Ring ring;

// Both threads run the same number of iterations, so the ring is empty again at the end.
void hand_over(State& state) {
  const std::size_t size = size_of(state);
  if (state.thread_index() == 0) {
    for (auto _ : state) ring.push(allocate(size));
  } else {
    for (auto _ : state) std::free(ring.pop());
  }
  if (state.thread_index() == 0) state.SetItemsProcessed(state.iterations());
}

void small_sizes(benchmark::internal::Benchmark* b) { b->RangeMultiplier(4)->Range(kSmallest, kLargest); }
void few_sizes(benchmark::internal::Benchmark* b) { b->Arg(48)->Arg(1000)->Arg(4096); }

BENCHMARK(pair)->Apply(small_sizes)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(batch, first_freed_first, Order::kFirstFreedFirst)->Apply(few_sizes)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(batch, last_freed_first, Order::kLastFreedFirst)->Apply(few_sizes)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(batch, shuffled, Order::kShuffled)->Apply(few_sizes)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(replace, 16_512, 16, 512)->ThreadRange(1, 2);
BENCHMARK_CAPTURE(replace, 1k_16k, 1024, 16384)->ThreadRange(1, 2);
BENCHMARK(calloc_pair)->Apply(few_sizes)->ThreadRange(1, 2);
BENCHMARK(realloc_growth)->Arg(1 << 10)->Arg(64 << 10)->Arg(4 << 20)->ThreadRange(1, 2);
BENCHMARK(hand_over)->Apply(few_sizes)->Threads(2)->UseRealTime();

}  // namespace

BENCHMARK_MAIN();
