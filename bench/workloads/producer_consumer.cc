// Producers allocate and fill, consumers read and free; rings in between. Three phases: as many of the
// one as of the other, three producers to a consumer, three consumers to a producer.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned long kBlocks = 4'000'000;  // a phase
constexpr std::uint32_t kSmallest = 16;
constexpr std::uint32_t kLargest = 2048;

// One producer, one consumer.
class Ring {
 public:
  bool push(bench::Block* block) {
    const std::size_t at = head_.load(std::memory_order_relaxed);
    if (at - tail_.load(std::memory_order_acquire) == kSlots) return false;
    slots_[at % kSlots] = block;
    head_.store(at + 1, std::memory_order_release);
    return true;
  }

  bench::Block* pop() {
    const std::size_t at = tail_.load(std::memory_order_relaxed);
    if (head_.load(std::memory_order_acquire) == at) return nullptr;
    bench::Block* block = slots_[at % kSlots];
    tail_.store(at + 1, std::memory_order_release);
    return block;
  }

 private:
  static constexpr std::size_t kSlots = 2048;
  alignas(64) std::atomic<std::size_t> head_{0};
  alignas(64) std::atomic<std::size_t> tail_{0};
  alignas(64) std::array<bench::Block*, kSlots> slots_{};
};

// A thread's own rings: a producer deals its blocks to them in turn, a consumer visits them in turn.
using Rings = std::vector<Ring*>;

void produce(std::uint64_t seed, unsigned long blocks, const Rings& rings) {
  bench::Random random(seed);
  for (unsigned long i = 0; i < blocks; ++i) {
    const std::uint32_t size = random.between(kSmallest, kLargest);
    bench::Block* block = bench::make_block(size, random.next());
    while (!rings[i % rings.size()]->push(block)) sched_yield();
  }
}

std::uint64_t consume(unsigned long blocks, const Rings& rings) {
  std::uint64_t sum = 0;
  for (unsigned long taken = 0, missed = 0, at = 0; taken < blocks; ++at) {
    if (bench::Block* block = rings[at % rings.size()]->pop()) {
      sum += bench::drop_block(block);
      ++taken;
      missed = 0;
    } else if (++missed == rings.size()) {
      sched_yield();
      missed = 0;
    }
  }
  return sum;
}

std::uint64_t phase(unsigned producers, unsigned consumers, unsigned long blocks) {
  const unsigned lanes = std::max(producers, consumers);  // a multiple of both
  const unsigned long per_lane = blocks / lanes;
  std::vector<std::unique_ptr<Ring>> rings;
  std::vector<Rings> from(producers), to(consumers);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    rings.push_back(std::make_unique<Ring>());
    from[lane % producers].push_back(rings.back().get());
    to[lane % consumers].push_back(rings.back().get());
  }

  std::vector<std::uint64_t> sums(consumers);
  std::vector<std::thread> threads;
  for (unsigned p = 0; p < producers; ++p) {
    threads.emplace_back(produce, p * 64 + consumers, per_lane * from[p].size(), std::cref(from[p]));
  }
  for (unsigned c = 0; c < consumers; ++c) {
    threads.emplace_back([&, c] { sums[c] = consume(per_lane * to[c].size(), to[c]); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (std::uint64_t sum : sums) total += sum;
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments = bench::parse_arguments(argc, argv);
  const unsigned half = std::max(1u, arguments.threads / 2);
  const unsigned long blocks = arguments.scaled(kBlocks);
  std::uint64_t total = phase(half, half, blocks);
  total += phase(3 * half, half, blocks);
  total += phase(half, 3 * half, blocks);
  return bench::report(total);
}
