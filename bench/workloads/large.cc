// Buffers of 256 KiB to 8 MiB: a few alive in each thread, every page of them written, then replaced.
#include <array>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kBuffers = 12'000;  // shared by the threads
constexpr std::uint32_t kAlive = 6;

std::uint64_t work(std::uint64_t seed, unsigned long buffers) {
  bench::Random random(seed);
  std::array<bench::Block*, kAlive> alive{};
  std::uint64_t sum = 0;
  for (unsigned long i = 0; i < buffers; ++i) {
    bench::Block*& slot = alive[random.below(kAlive)];
    sum += bench::drop_block(slot);
    const std::size_t size = random.log_size(18, 23);
    slot = bench::make_block(size, random.next());
  }
  for (bench::Block* slot : alive) sum += bench::drop_block(slot);
  bench::count_operations(buffers);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long buffers = arguments.scaled(kBuffers) / arguments.threads;
  return bench::report(
      bench::in_threads(arguments.threads, [&](unsigned t) { return work(t + 1, buffers); }));
}
