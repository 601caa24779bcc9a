// Threadtest, the shape by which Berger and others judged Hoard: each thread allocates its share of many
// small objects, frees them all in the same order, and starts again. No object ever leaves its thread, so
// all that can slow one thread down is the others' use of the allocator. work=N adds N steps of computing
// behind each call, size=N sets the objects' size.
#include <algorithm>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kRounds = 900;
constexpr unsigned long kObjects = 100'000;  // shared by the threads
constexpr unsigned long kSize = 8;

// In a register: what waits for memory here, waits for the allocator.
void compute(unsigned long steps) {
  for (; steps != 0; --steps) asm volatile("" : "+r"(steps));
}

std::uint64_t work(std::uint64_t seed, unsigned long rounds, unsigned long count, std::size_t size,
                   unsigned long steps) {
  bench::Random random(seed);
  std::vector<std::uint64_t*> objects(count);
  std::uint64_t sum = 0;
  for (unsigned long round = 0; round < rounds; ++round) {
    for (std::uint64_t*& object : objects) {
      object = static_cast<std::uint64_t*>(bench::allocate(size));
      *object = random.next();
      compute(steps);
    }
    for (std::uint64_t* object : objects) {
      sum += *object;
      bench::release(object);
      compute(steps);
    }
  }
  bench::count_operations(rounds * count);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long rounds = arguments.scaled(kRounds);
  const unsigned long count = std::max(1ul, kObjects / arguments.threads);
  const std::size_t size = std::max(kSize, arguments.number("size", kSize));
  const unsigned long steps = arguments.number("work", 0);
  return bench::report(bench::in_threads(
      arguments.threads, [&](unsigned t) { return work(t + 1, rounds, count, size, steps); }));
}
