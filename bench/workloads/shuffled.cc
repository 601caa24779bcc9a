// Each thread fills an array with small blocks and frees them in random order, again and again.
#include <thread>
#include <utility>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned long kRounds = 35;
constexpr std::uint32_t kBlocks = 200'000;  // a thread
constexpr std::uint32_t kSmallest = 16;
constexpr std::uint32_t kLargest = 256;

std::uint64_t work(std::uint64_t seed, unsigned long rounds) {
  bench::Random random(seed);
  std::vector<bench::Block*> blocks(kBlocks);
  std::uint64_t sum = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    for (bench::Block*& block : blocks) {
      const std::uint32_t size = random.between(kSmallest, kLargest);
      block = bench::make_block(size, random.next());
    }
    for (std::uint32_t k = kBlocks - 1; k > 0; --k) std::swap(blocks[k], blocks[random.below(k + 1)]);
    for (bench::Block* block : blocks) sum += bench::drop_block(block);
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments = bench::parse_arguments(argc, argv);
  std::vector<std::uint64_t> sums(arguments.threads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < arguments.threads; ++t) {
    threads.emplace_back([&, t] { sums[t] = work(t + 1, arguments.scaled(kRounds)); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (std::uint64_t sum : sums) total += sum;
  return bench::report(total);
}
