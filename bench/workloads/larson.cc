// A server's shape, after Larson and Krishnan: a thread replaces random blocks of its array, then hands
// the array to a fresh thread and ends. So most blocks are freed by another thread than allocated them,
// and that thread is gone.
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr std::size_t kSlots = 5000;
constexpr std::uint32_t kSmallest = 16;
constexpr std::uint32_t kLargest = 1000;
constexpr unsigned long kGenerations = 600;  // shared by the chains
constexpr unsigned long kReplacements = 125'000;  // a generation

struct alignas(128) Chain {  // a thread writes its own all the time
  bench::Random random;
  std::vector<bench::Block*> slots;
  std::uint64_t sum = 0;
};

bench::Block* make_any(bench::Random& random) {
  const std::uint32_t size = random.between(kSmallest, kLargest);
  return bench::make_block(size, random.next());
}

void live(Chain& chain, unsigned long generations_left, std::atomic<unsigned>& running) {
  for (unsigned long i = 0; i < kReplacements; ++i) {
    bench::Block*& slot = chain.slots[chain.random.below(kSlots)];
    chain.sum += bench::drop_block(slot);
    slot = make_any(chain.random);
  }
  bench::count_operations(kReplacements);
  if (generations_left > 1) {
    std::thread(live, std::ref(chain), generations_left - 1, std::ref(running)).detach();
    return;
  }
  running.fetch_sub(1);
  running.notify_one();
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  std::vector<Chain> chains;
  for (unsigned t = 0; t < arguments.threads; ++t) {
    chains.push_back({bench::Random(t + 1), std::vector<bench::Block*>(kSlots)});
    for (bench::Block*& slot : chains.back().slots) slot = make_any(chains.back().random);
  }

  const unsigned long generations = std::max(1ul, arguments.scaled(kGenerations) / arguments.threads);
  std::atomic<unsigned> running{arguments.threads};
  for (Chain& chain : chains) {
    std::thread(live, std::ref(chain), generations, std::ref(running)).detach();
  }
  for (unsigned left; (left = running.load()) != 0;) running.wait(left);

  std::uint64_t total = 0;
  for (Chain& chain : chains) {
    for (bench::Block* slot : chain.slots) chain.sum += bench::drop_block(slot);
    total += chain.sum;
  }
  return bench::report(total);
}
