// Each thread: malloc 512 bytes, write to them, free; as Lever and Boreham's malloc-test does. All of it is
// 40 million cycles, shared by the threads, as in the measurements of jemalloc's first paper.
#include "common.h"
#include "share.h"
#include "threads.h"

namespace {

constexpr unsigned long kCycles = 40'000'000;
constexpr std::size_t kSize = 512;

std::uint64_t cycle(const bench::Share& share) {
  std::uint64_t sum = 0;
  for (unsigned long i = share.first; i < share.last; ++i) {
    sum += bench::drop_block(bench::make_block(kSize, i * 1000003));
  }
  bench::count_operations(share.size());
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long cycles = arguments.scaled(kCycles);
  return bench::report(bench::in_threads(arguments.threads, [&](unsigned number) {
    return cycle(bench::Share(cycles, number, arguments.threads));
  }));
}
