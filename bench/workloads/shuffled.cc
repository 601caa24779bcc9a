// Each thread fills an array with small blocks and frees them in random order, again and again.
#include <utility>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kRounds = 50;
constexpr std::uint32_t kBlocks = 400'000;  // shared by the threads
constexpr std::uint32_t kSmallest = 16;
constexpr std::uint32_t kLargest = 256;

std::uint64_t work(std::uint64_t seed, std::uint32_t count, unsigned long rounds) {
  bench::Random random(seed);
  std::vector<bench::Block*> blocks(count);
  std::uint64_t sum = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    for (bench::Block*& block : blocks) {
      const std::uint32_t size = random.between(kSmallest, kLargest);
      block = bench::make_block(size, random.next());
    }
    for (std::uint32_t k = count - 1; k > 0; --k) std::swap(blocks[k], blocks[random.below(k + 1)]);
    for (bench::Block* block : blocks) sum += bench::drop_block(block);
  }
  bench::count_operations(rounds * count);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const std::uint32_t count = kBlocks / arguments.threads;
  return bench::report(bench::in_threads(
      arguments.threads, [&](unsigned t) { return work(t + 1, count, arguments.scaled(kRounds)); }));
}
