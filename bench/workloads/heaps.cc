// Heaps for requests: so many live at the same time, with ten blocks of some sizes in each, and then none of them. What do
// they leave behind, in resident memory and in the time of a fork? Four times, each time destroyed in another order.
// Where the allocator has no heaps (acre/heap.h), the same blocks are allocated by malloc and freed one by one.
//
// The shape is that of acre's heap.h, which promises a heap a request; heaps=N, 1 to 100 000, is how many live at once.
//   alive_kib      what is resident while all live, over what was before
//   left_kib       what is resident when the last one was destroyed, over what was before
//   fork_alive_us  a fork while all live: until the parent goes on, the quickest of five
//   fork_left_us   a fork when all were destroyed, likewise
//   fork_before_us a fork before the first one
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned long kHeaps = 1000;
constexpr unsigned kRounds = 4;
constexpr unsigned kBlocks = 10;
constexpr unsigned kForks = 5;

using Create = void* (*)(const void* settings);
using Allocate = void* (*)(void* heap, std::size_t size);
using Destroy = void (*)(void* heap);

struct Api {
  Create create = find<Create>("acre_heap_create");
  Allocate allocate = find<Allocate>("acre_heap_malloc");
  Destroy destroy = find<Destroy>("acre_heap_destroy");

  template <class Function>
  static Function find(const char* name) {
    return reinterpret_cast<Function>(dlsym(RTLD_DEFAULT, name));
  }
  bool is_there() const { return create != nullptr && allocate != nullptr && destroy != nullptr; }
};

struct Heap {
  void* heap = nullptr;
  std::array<bench::Block*, kBlocks> blocks{};
};

double resident_kib() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  unsigned long all = 0, resident = 0;
  if (file == nullptr || std::fscanf(file, "%lu %lu", &all, &resident) != 2) std::exit(1);
  std::fclose(file);
  return static_cast<double>(resident) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1024;
}

double fork_us() {
  double quickest = 1e12;
  for (unsigned i = 0; i < kForks; ++i) {
    const auto begin = bench::Clock::now();
    const pid_t child = fork();
    if (child == 0) _exit(0);
    quickest = std::min(quickest, bench::seconds_since(begin) * 1e6);
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) std::exit(1);
  }
  return quickest;
}

void make(const Api& api, Heap& heap, bench::Random& random) {
  if (api.is_there()) heap.heap = api.create(nullptr);
  for (bench::Block*& block : heap.blocks) {
    const std::size_t size = random.log_size(5, 9);
    void* memory = api.is_there() ? api.allocate(heap.heap, size) : bench::allocate(size);
    if (memory == nullptr) std::exit(1);
    block = static_cast<bench::Block*>(memory);
    block->size = size;
    block->tag = random.next();
  }
  bench::count_operations(kBlocks);
}

std::uint64_t destroy(const Api& api, Heap& heap) {
  std::uint64_t sum = 0;
  for (bench::Block* block : heap.blocks) {
    sum += block->tag * block->size;
    if (!api.is_there()) bench::release(block);
  }
  if (api.is_there()) api.destroy(heap.heap);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Api api;
  std::vector<Heap> heaps(arguments.scaled(arguments.number("heaps", kHeaps)));
  std::vector<std::size_t> order(heaps.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  bench::Random random(1);
  const double before = resident_kib(), fork_before = fork_us();
  double alive = 0, fork_alive = 1e12, seconds = 0;
  std::uint64_t checksum = 0;
  for (unsigned round = 0; round < kRounds; ++round) {
    auto begin = bench::Clock::now();
    for (Heap& heap : heaps) make(api, heap, random);
    seconds += bench::seconds_since(begin);
    alive = std::max(alive, resident_kib() - before);
    fork_alive = std::min(fork_alive, fork_us());
    for (std::size_t i = order.size(); i > 1; --i) {
      std::swap(order[i - 1], order[random.below(static_cast<std::uint32_t>(i))]);
    }
    begin = bench::Clock::now();
    for (const std::size_t i : order) checksum += destroy(api, heaps[i]);
    seconds += bench::seconds_since(begin);
  }
  bench::extra("alive_kib", alive);
  bench::extra("left_kib", std::max(0.0, resident_kib() - before));
  bench::extra("fork_before_us", fork_before);
  bench::extra("fork_alive_us", fork_alive);
  bench::extra("fork_left_us", fork_us());
  bench::judged_seconds(seconds);
  return bench::report(checksum);
}
