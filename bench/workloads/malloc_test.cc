// Each thread: malloc 512 bytes, write to them, free; as Lever and Boreham's malloc-test does.
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned long kCycles = 120'000'000;  // shared by the threads
constexpr std::size_t kSize = 512;

std::uint64_t cycle(unsigned long cycles, std::uint64_t tag) {
  std::uint64_t sum = 0;
  for (unsigned long i = 0; i < cycles; ++i) sum += bench::drop_block(bench::make_block(kSize, tag + i));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments = bench::parse_arguments(argc, argv);
  const unsigned long cycles = arguments.scaled(kCycles) / arguments.threads;
  std::vector<std::uint64_t> sums(arguments.threads * 8);  // a cache line each
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < arguments.threads; ++t) {
    threads.emplace_back([&, t] { sums[t * 8] = cycle(cycles, t * 1000003ul); });
  }
  for (std::thread& thread : threads) thread.join();
  std::uint64_t total = 0;
  for (std::uint64_t sum : sums) total += sum;
  return bench::report(total);
}
