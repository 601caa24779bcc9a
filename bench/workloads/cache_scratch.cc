// Passive false sharing, the shape that Berger and others named cache-scratch: one thread allocates small
// objects next to each other and deals them out to the threads. These free theirs, and then each allocates
// and writes its own: an allocator that hands the freed objects out again makes them share cache lines.
#include <vector>

#include "false_sharing.h"
#include "threads.h"

namespace {

constexpr unsigned long kRounds = 400;

}  // namespace

int main(int argc, char** argv) {
  using Shape = bench::FalseSharing;
  const bench::Arguments arguments(argc, argv);
  Shape shape(arguments, kRounds);
  std::vector<Shape::Counter*> gifts(shape.threads * Shape::kHeld);
  for (std::size_t k = 0; k < gifts.size(); ++k) gifts[k] = Shape::make(k);
  return bench::report(bench::in_threads(shape.threads, [&](unsigned t) {
    shape.begin(t);
    std::uint64_t sum = 0;
    for (std::size_t k = t; k < gifts.size(); k += shape.threads) sum += Shape::drop(gifts[k], k);
    return sum + shape.live(t);
  }));
}
