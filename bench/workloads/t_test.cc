// Threads that live for a while with their own blocks, after the shape of ptmalloc's t-test1, as TCMalloc's
// design document measured it: a million operations a thread (operations=N), sizes up to largest=BYTES.
// Twenty threads live in all, THREADS of them at a time; one that ends is replaced. A thread has bins of
// blocks; again and again it takes a bin and some places in it, and there frees what it finds, or makes a
// block where there is none: by malloc, but now and then by calloc, realloc or an aligned allocation.
#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "common.h"

namespace {

constexpr unsigned kLives = 20;
constexpr unsigned long kOperations = 1'000'000;  // of a life: allocations and frees
constexpr unsigned long kLargest = 4096;
constexpr unsigned long kAliveBytes = 16ul << 20;  // were every place of every thread taken by the largest
constexpr unsigned kBinPlaces = 32;
constexpr unsigned kVisit = 16;  // operations in a bin before the next is chosen
constexpr std::uint32_t kSmallest = sizeof(bench::Block);

template <typename Call>
void* timed(const Call& call) {
  const bench::Stopwatch watch;
  void* memory = call();
  watch.stop();
  if (memory == nullptr) {
    std::fprintf(stderr, "no memory\n");
    std::exit(1);
  }
  return memory;
}

void require(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

// The marks that bench::make_block makes, in memory that came by another way.
bench::Block* mark_block(void* memory, std::size_t size, std::uint64_t tag) {
  auto* bytes = static_cast<unsigned char*>(memory);
  const auto mark = static_cast<unsigned char>(tag);
  for (std::size_t at = bench::kPage; at < size; at += bench::kPage) bytes[at] = mark;
  if (size > sizeof(bench::Block)) bytes[size - 1] = mark;
  return new (memory) bench::Block{size, tag};
}

bench::Block* make_zeroed(std::size_t size, std::uint64_t tag) {
  void* memory = timed([&] { return std::calloc(1, size); });
  const auto* bytes = static_cast<const unsigned char*>(memory);
  bool zero = bytes[size - 1] == 0;
  for (std::size_t at = 0; at < size; at += 64) zero = zero && bytes[at] == 0;
  require(zero, "calloc gave memory that is not zero");
  return mark_block(memory, size, tag);
}

bench::Block* make_aligned(std::size_t size, std::uint64_t tag, std::size_t alignment) {
  void* memory = timed([&] {
    void* found = nullptr;
    return posix_memalign(&found, alignment, size) == 0 ? found : nullptr;
  });
  require(reinterpret_cast<std::uintptr_t>(memory) % alignment == 0, "a block is not aligned");
  return mark_block(memory, size, tag);
}

bool intact(const bench::Block& block) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(&block);
  return block.size <= sizeof block || bytes[block.size - 1] == static_cast<unsigned char>(block.tag);
}

// A block of half the size that is grown, as a program does that reads until there is no more.
bench::Block* make_grown(std::size_t size, std::uint64_t tag) {
  bench::Block* half = bench::make_block(std::max<std::size_t>(size / 2, kSmallest), tag);
  void* memory = timed([&] { return std::realloc(half, size); });
  const auto* kept = static_cast<const bench::Block*>(memory);
  require(kept->tag == tag && intact(*kept), "realloc lost what was in the block");
  return mark_block(memory, size, tag);
}

class Life {
 public:
  Life(unsigned number, unsigned long largest, std::size_t bins)
      : random_(number + 1), largest_(static_cast<std::uint32_t>(largest)), places_(bins * kBinPlaces) {}

  // -> its part of the checksum
  std::uint64_t live(unsigned long operations) {
    const auto bins = static_cast<std::uint32_t>(places_.size() / kBinPlaces);
    while (operations > 0) {
      bench::Block** bin = &places_[std::size_t{random_.below(bins)} * kBinPlaces];
      for (unsigned left = kVisit; left > 0 && operations > 0; --left, --operations) {
        change(bin[random_.below(kBinPlaces)]);
      }
    }
    for (bench::Block* block : places_) sum_ += bench::drop_block(block);
    bench::count_operations(allocations_);
    return sum_;
  }

 private:
  void change(bench::Block*& place) {
    if (place != nullptr) {
      sum_ += bench::drop_block(place);
      place = nullptr;
    } else {
      place = make_any();
      ++allocations_;
    }
  }

  bench::Block* make_any() {
    const std::size_t size = random_.between(kSmallest, largest_);
    const std::uint64_t tag = random_.next();
    const std::uint32_t kind = random_.below(64);
    if (kind == 0) return make_aligned(size, tag, std::size_t{16} << random_.below(6));
    if (kind <= 4) return make_zeroed(size, tag);
    if (kind <= 12) return make_grown(size, tag);
    return bench::make_block(size, tag);
  }

  bench::Random random_;
  std::uint32_t largest_;
  std::vector<bench::Block*> places_;
  std::uint64_t sum_ = 0;
  std::uint64_t allocations_ = 0;
};

// Keeps so many threads alive until kLives have been.
class Population {
 public:
  Population(unsigned long largest, std::size_t bins, unsigned long operations)
      : largest_(largest), bins_(bins), operations_(operations) {}

  std::uint64_t run(unsigned at_a_time) {
    const unsigned lives = std::max(kLives, at_a_time);
    threads_.resize(lives);
    unsigned begun = 0;
    for (; begun < at_a_time; ++begun) begin(begun);
    for (unsigned ended = 0; ended < lives; ++ended) {
      threads_[next_ended()].join();
      if (begun < lives) begin(begun++);
    }
    return sum_;
  }

 private:
  void begin(unsigned number) {
    threads_[number] = std::thread([this, number] {
      const std::uint64_t sum = Life(number, largest_, bins_).live(operations_);
      const std::lock_guard lock(lock_);
      sum_ += sum;
      ended_.push_back(number);
      changed_.notify_one();
    });
  }

  unsigned next_ended() {
    std::unique_lock lock(lock_);
    changed_.wait(lock, [this] { return !ended_.empty(); });
    const unsigned number = ended_.front();
    ended_.pop_front();
    return number;
  }

  unsigned long largest_;
  std::size_t bins_;
  unsigned long operations_;
  std::vector<std::thread> threads_;
  std::mutex lock_;
  std::condition_variable changed_;
  std::deque<unsigned> ended_;
  std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long largest = std::max<unsigned long>(arguments.number("largest", kLargest), kSmallest);
  const unsigned long bins = std::max(2ul, kAliveBytes / arguments.threads / kBinPlaces / largest);
  Population population(largest, bins, arguments.scaled(arguments.number("operations", kOperations)));
  return bench::report(population.run(arguments.threads));
}
