// The weakness that the jemalloc paper of 2011 leaves open: a pool of threads fills a large structure and
// then stays idle, and one thread works on. Does it find the memory that was freed again, or does the
// pool's part become a wasteland of badly used pages?
//
//   freed=one|pool   who frees three nodes of four: the thread that works on, or the pool before it idles
//
// Then the one thread fills the structure up again and replaces its nodes, so that as much is live as the
// pool had made; and at last it frees three of four again.
//   resident_after_mib, resident_after_ratio   what is resident when all is replaced; over the bytes live
//   resident_shrunk_ratio                      what is resident at the very end, over the bytes live
#include <algorithm>
#include <latch>
#include <thread>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kNodes = 1'600'000;
constexpr unsigned kPasses = 2;  // in which all nodes are replaced

using Nodes = std::vector<bench::Block*>;

struct Part {
  std::size_t first, last;
};

bench::Block* make_node(bench::Random& random) {
  const std::size_t size = random.log_size(4, 9);
  return bench::make_block(size, random.next());
}

// Fills the places that are empty.
void fill(Nodes& nodes, Part part, bench::Random& random) {
  unsigned long made = 0;
  for (std::size_t k = part.first; k < part.last; ++k) {
    if (nodes[k] != nullptr) continue;
    nodes[k] = make_node(random);
    ++made;
  }
  bench::count_operations(made);
}

// Frees three nodes of four. -> their part of the checksum
std::uint64_t shrink(Nodes& nodes, Part part, bench::Random& random) {
  std::uint64_t sum = 0;
  for (std::size_t k = part.first; k < part.last; ++k) {
    if (random.below(4) == 0) continue;
    sum += bench::drop_block(nodes[k]);
    nodes[k] = nullptr;
  }
  return sum;
}

// Replaces as many nodes as there are, at random places.
std::uint64_t replace(Nodes& nodes, bench::Random& random) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    bench::Block*& node = nodes[random.below(static_cast<std::uint32_t>(nodes.size()))];
    sum += bench::drop_block(node);
    node = make_node(random);
  }
  bench::count_operations(nodes.size());
  return sum;
}

double live_bytes(const Nodes& nodes) {
  std::size_t total = nodes.size() * sizeof nodes[0];
  for (const bench::Block* node : nodes) total += node != nullptr ? node->size : 0;
  return static_cast<double>(total);
}

std::uint64_t work_on(Nodes& nodes, bool shrunk) {
  const Part all{0, nodes.size()};
  bench::Random random(0);
  std::uint64_t sum = shrunk ? 0 : shrink(nodes, all, random);
  fill(nodes, all, random);
  for (unsigned pass = 0; pass < kPasses; ++pass) sum += replace(nodes, random);
  const double resident = bench::resident_bytes();
  bench::extra("resident_after_mib", resident / bench::kMiB);
  bench::extra("resident_after_ratio", resident / live_bytes(nodes));
  sum += shrink(nodes, all, random);
  bench::extra("resident_shrunk_ratio", bench::resident_bytes() / live_bytes(nodes));
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned count = arguments.threads;
  const bool freed_by_pool = std::strcmp(arguments.text("freed", "one"), "pool") == 0;
  Nodes nodes(std::max<std::size_t>(count, arguments.scaled(kNodes)));
  std::vector<std::uint64_t> sums(count);
  std::latch built(count), end(1);
  std::vector<std::jthread> pool;
  for (unsigned t = 0; t < count; ++t) {
    pool.emplace_back([&, t] {
      const Part own{nodes.size() * t / count, nodes.size() * (t + 1) / count};
      bench::Random random(t + 1);
      fill(nodes, own, random);
      if (freed_by_pool) sums[t] = shrink(nodes, own, random);
      built.count_down();
      end.wait();
    });
  }
  built.wait();
  std::uint64_t total = work_on(nodes, freed_by_pool);
  end.count_down();
  for (std::uint64_t sum : sums) total += sum;
  for (bench::Block* node : nodes) total += bench::drop_block(node);
  pool.clear();
  return bench::report(total);
}
