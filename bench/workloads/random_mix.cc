// A long-living random mix: blocks of 16 bytes to 16 KiB (every doubling equally likely) and now and
// then 64 KiB to 1 MiB. One block in eight changes hands and is freed by another thread; from time to
// time a thread lives only for a while and leaves its blocks to the one that started it.
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kOperations = 7'000'000;  // shared by the threads
constexpr std::size_t kSlots = 12'000;            // blocks alive, shared by the threads
constexpr unsigned long kGuestEvery = 50'000;     // operations between two short-lived threads
constexpr unsigned kGuestBlocks = 2'000;
constexpr unsigned kExchanges = 256;

// Where blocks change hands: a thread leaves its block and takes what another one left.
std::array<std::atomic<bench::Block*>, kExchanges> exchange;

std::size_t any_size(bench::Random& random) {
  return random.below(2000) == 0 ? random.log_size(16, 20) : random.log_size(4, 14);
}

bench::Block* make_any(bench::Random& random) {
  const std::size_t size = any_size(random);
  return bench::make_block(size, random.next());
}

std::uint64_t drop_somewhere(bench::Random& random, bench::Block* block) {
  const std::uint32_t choice = random.below(8 * kExchanges);
  return bench::drop_block(choice < kExchanges ? exchange[choice].exchange(block) : block);
}

// Allocates, frees half, and leaves the rest.
std::uint64_t visit(std::uint64_t seed, std::vector<bench::Block*>& left) {
  bench::Random random(seed);
  std::uint64_t sum = 0;
  for (unsigned i = 0; i < kGuestBlocks; ++i) {
    bench::Block* block = make_any(random);
    if (random.below(2) == 0) {
      sum += drop_somewhere(random, block);
    } else {
      left.push_back(block);
    }
  }
  bench::count_operations(kGuestBlocks);
  return sum;
}

std::uint64_t have_a_guest(std::uint64_t seed) {
  std::vector<bench::Block*> left;
  std::uint64_t sum = 0;
  std::thread([&] { sum = visit(seed, left); }).join();
  for (bench::Block* block : left) sum += bench::drop_block(block);
  return sum;
}

std::uint64_t work(unsigned number, std::size_t slot_count, unsigned long operations) {
  bench::Random random(number + 1);
  std::vector<bench::Block*> slots(slot_count);
  std::uint64_t sum = 0;
  for (unsigned long i = 1; i <= operations; ++i) {
    bench::Block*& slot = slots[random.below(static_cast<std::uint32_t>(slot_count))];
    if (slot != nullptr) sum += drop_somewhere(random, slot);
    slot = make_any(random);
    if (i % kGuestEvery == 0) sum += have_a_guest(random.next());
  }
  for (bench::Block* slot : slots) sum += bench::drop_block(slot);
  bench::count_operations(operations);
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned count = arguments.threads;
  const unsigned long operations = arguments.scaled(kOperations) / count;
  std::uint64_t total =
      bench::in_threads(count, [&](unsigned t) { return work(t, kSlots / count, operations); });
  for (auto& slot : exchange) total += bench::drop_block(slot.load());
  return bench::report(total);
}
