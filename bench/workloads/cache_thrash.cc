// Active false sharing, the shape that Berger and others named cache-thrash: threads allocate small
// objects at the same time and write them: an allocator that deals neighbours out to different threads
// makes them share cache lines.
#include "false_sharing.h"
#include "threads.h"

namespace {

constexpr unsigned long kRounds = 3000;

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  bench::FalseSharing shape(arguments, kRounds);
  return bench::report(bench::in_threads(shape.threads, [&](unsigned t) {
    shape.begin(t);
    return shape.live(t);
  }));
}
