// Large buffers: a few alive in each thread, every page of them written, then replaced in random order.
//
//   buffers=N            so many, shared by the threads
//   alive=N              in each thread
//   smallest=MIB largest=MIB   any size between them; without these 256 KiB to 8 MiB, each doubling as likely as
//                        any other
#include <algorithm>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kBuffers = 12'000;
constexpr unsigned long kAlive = 6;
constexpr unsigned kMiBBits = 20;

struct Shape {
  unsigned long alive;
  std::uint32_t smallest, largest;  // bytes; 0: as doublings

  std::size_t any_size(bench::Random& random) const {
    return largest == 0 ? random.log_size(18, 23) : random.between(smallest, largest);
  }
};

std::uint64_t work(std::uint64_t seed, unsigned long buffers, const Shape& shape) {
  bench::Random random(seed);
  std::vector<bench::Block*> alive(shape.alive);
  std::uint64_t sum = 0;
  for (unsigned long i = 0; i < buffers; ++i) {
    bench::Block*& slot = alive[random.below(static_cast<std::uint32_t>(alive.size()))];
    sum += bench::drop_block(slot);
    const std::size_t size = shape.any_size(random);
    slot = bench::make_block(size, random.next());
  }
  for (bench::Block* slot : alive) sum += bench::drop_block(slot);
  bench::count_operations(buffers);
  return sum;
}

// In MiB, below 4 GiB.
std::uint32_t mebibytes(const bench::Arguments& arguments, const char* name) {
  return static_cast<std::uint32_t>(std::min(arguments.number(name, 0), 4095ul) << kMiBBits);
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Shape shape{std::max(1ul, arguments.number("alive", kAlive)), mebibytes(arguments, "smallest"),
                    mebibytes(arguments, "largest")};
  const unsigned long buffers = arguments.scaled(arguments.number("buffers", kBuffers)) / arguments.threads;
  return bench::report(
      bench::in_threads(arguments.threads, [&](unsigned t) { return work(t + 1, buffers, shape); }));
}
