// Producers allocate and fill, consumers read and free; rings in between, so that at most a few thousand
// blocks are under way. ratio=P:C says how many producers there are to how many consumers.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <numeric>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kBlocks = 2'000'000;  // shared by the producers
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

std::uint64_t produce(std::uint64_t seed, unsigned long blocks, const Rings& rings) {
  bench::Random random(seed);
  for (unsigned long i = 0; i < blocks; ++i) {
    const std::uint32_t size = random.between(kSmallest, kLargest);
    bench::Block* block = bench::make_block(size, random.next());
    while (!rings[i % rings.size()]->push(block)) sched_yield();
  }
  bench::count_operations(blocks);
  return 0;
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

struct Sides {
  unsigned producers, consumers;
};

// ratio=P:C, with as many threads as come near to the wanted number.
Sides sides(const bench::Arguments& arguments) {
  Sides ratio{1, 1};
  const char* text = arguments.text("ratio", "1:1");
  const bool read = std::sscanf(text, "%u:%u", &ratio.producers, &ratio.consumers) == 2;
  if (!read || ratio.producers == 0 || ratio.consumers == 0) {
    std::fprintf(stderr, "ratio=%s: two numbers as in 3:1 are wanted\n", text);
    std::exit(2);
  }
  const unsigned times = std::max(1u, arguments.threads / (ratio.producers + ratio.consumers));
  return {times * ratio.producers, times * ratio.consumers};
}

std::uint64_t run(Sides sides, unsigned long blocks) {
  const unsigned lanes = std::lcm(sides.producers, sides.consumers);
  const unsigned long per_lane = std::max(1ul, blocks / lanes);
  std::vector<std::unique_ptr<Ring>> rings;
  std::vector<Rings> from(sides.producers), to(sides.consumers);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    rings.push_back(std::make_unique<Ring>());
    from[lane % sides.producers].push_back(rings.back().get());
    to[lane / (lanes / sides.consumers)].push_back(rings.back().get());
  }
  return bench::in_threads(sides.producers + sides.consumers, [&](unsigned t) {
    if (t < sides.producers) return produce(t + 1, per_lane * from[t].size(), from[t]);
    const Rings& mine = to[t - sides.producers];
    return consume(per_lane * mine.size(), mine);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  return bench::report(run(sides(arguments), arguments.scaled(kBlocks)));
}
