// A server's shape, after Larson and Krishnan: a thread replaces random blocks of its array, then hands
// the array to a fresh thread and ends. So most blocks are freed by another thread than allocated them,
// and that thread is gone.
//
//   replacements=N   of a thread's life; PERCENT changes the number of lives, never this
//   all=N slots=N    replacements of all threads; blocks in an array
//   touch=whole      blocks of 16 to 1000 bytes, with proof of their content at both ends
//   touch=two        blocks of 8 to 1000 bytes, of which the program touches the first two: most of the time is
//                    the allocator's
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned long kSlots = 5000;
constexpr std::uint32_t kLargest = 1000;
constexpr unsigned long kReplacements = 125'000;     // of a life
constexpr unsigned long kAllReplacements = 75'000'000;  // shared by the chains

// A block with proof of all that it holds.
class Whole {
 public:
  static Whole make(bench::Random& random) {
    const std::uint32_t size = random.between(sizeof(bench::Block), kLargest);
    return Whole(bench::make_block(size, random.next()));
  }

  std::uint64_t drop() const { return bench::drop_block(block_); }

 private:
  explicit Whole(bench::Block* block) : block_(block) {}

  bench::Block* block_;
};

// A block that holds two bytes; the program knows them without looking.
class Two {
 public:
  static Two make(bench::Random& random) {
    const auto size = static_cast<std::uint16_t>(random.between(8, kLargest));
    auto* bytes = static_cast<unsigned char*>(bench::allocate(size));
    const auto mark = static_cast<std::uint16_t>(random.next());
    std::memcpy(bytes, &mark, sizeof mark);
    return Two(bytes, size, mark);
  }

  std::uint64_t drop() const {
    std::uint16_t found;
    std::memcpy(&found, bytes_, sizeof found);
    if (found != mark_) {
      std::fprintf(stderr, "a block of %u bytes was overwritten\n", size_);
      std::abort();
    }
    bench::release(bytes_);
    return std::uint64_t{found} * size_;
  }

 private:
  Two(unsigned char* bytes, std::uint16_t size, std::uint16_t mark) : bytes_(bytes), size_(size), mark_(mark) {}

  unsigned char* bytes_;
  std::uint16_t size_, mark_;
};

struct Lives {
  unsigned long left;  // of a chain
  unsigned long replacements;
  std::uint32_t slots;
};

template <typename Slot>
struct alignas(128) Chain {  // a thread writes its own all the time
  Chain(unsigned number, std::uint32_t count) : random(number + 1) {
    slots.reserve(count);
    while (slots.size() < count) slots.push_back(Slot::make(random));
  }

  bench::Random random;
  std::vector<Slot> slots;
  std::uint64_t sum = 0;
};

template <typename Slot>
void live(Chain<Slot>& chain, Lives lives, std::atomic<unsigned>& running) {
  for (unsigned long i = 0; i < lives.replacements; ++i) {
    Slot& slot = chain.slots[chain.random.below(lives.slots)];
    chain.sum += slot.drop();
    slot = Slot::make(chain.random);
  }
  bench::count_operations(lives.replacements);
  if (--lives.left > 0) {
    std::thread(live<Slot>, std::ref(chain), lives, std::ref(running)).detach();
    return;
  }
  running.fetch_sub(1);
  running.notify_one();
}

template <typename Slot>
std::uint64_t run(unsigned count, Lives lives) {
  std::vector<Chain<Slot>> chains;
  chains.reserve(count);
  for (unsigned t = 0; t < count; ++t) chains.emplace_back(t, lives.slots);
  std::atomic<unsigned> running{count};
  for (Chain<Slot>& chain : chains) {
    std::thread(live<Slot>, std::ref(chain), lives, std::ref(running)).detach();
  }
  for (unsigned left; (left = running.load()) != 0;) running.wait(left);

  std::uint64_t total = 0;
  for (Chain<Slot>& chain : chains) {
    for (const Slot& slot : chain.slots) chain.sum += slot.drop();
    total += chain.sum;
  }
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long replacements = std::max(1ul, arguments.number("replacements", kReplacements));
  const unsigned long all_lives = arguments.scaled(arguments.number("all", kAllReplacements) / replacements);
  const auto slots = static_cast<std::uint32_t>(std::max(1ul, arguments.number("slots", kSlots)));
  const Lives lives{std::max(1ul, all_lives / arguments.threads), replacements, slots};
  const bool two = std::strcmp(arguments.text("touch", "whole"), "two") == 0;
  return bench::report(two ? run<Two>(arguments.threads, lives) : run<Whole>(arguments.threads, lives));
}
