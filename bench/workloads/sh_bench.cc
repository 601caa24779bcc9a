// Groups of blocks of one size after another, after the published shape of MicroQuill's sh6bench, with the
// memset that jemalloc's first paper added to it: sizes 1 to 1000, 2500 iterations (shared by the threads).
// An iteration goes through the sizes and makes a group of each, the more blocks the smaller they are. Most
// of a group is freed at once, in the order of allocation, backwards, or one by one from both ends in turns;
// every eighth block is kept, until some later iteration keeps its own in the same place.
//
// handover=1 is the shape of sh8bench: every second block is left for whichever thread comes by next.
#include <algorithm>
#include <array>
#include <atomic>
#include <vector>

#include "common.h"
#include "share.h"
#include "threads.h"

namespace {

constexpr unsigned long kIterations = 2500;
constexpr std::size_t kLargest = 1000;
constexpr std::size_t kGroupBytes = 8 * 1024;
constexpr std::size_t kMostInGroup = 1000;
constexpr unsigned kPlaces = 512;         // where iterations leave what they keep
constexpr unsigned kHandoverPlaces = 64;  // of these, where it is handed over

struct Item {
  unsigned char* data;
  std::uint32_t size;
  unsigned char mark;
};

using Items = std::vector<Item>;

Item make_item(std::uint32_t size, std::uint64_t tag) {
  const Item item{static_cast<unsigned char*>(bench::allocate(size)), size, static_cast<unsigned char>(tag)};
  std::memset(item.data, item.mark, size);
  return item;
}

std::uint64_t drop_item(const Item& item) {
  if (item.data[0] != item.mark || item.data[item.size - 1] != item.mark) {
    std::fprintf(stderr, "a block of %u bytes was overwritten\n", item.size);
    std::abort();
  }
  bench::release(item.data);
  return item.mark * std::uint64_t{item.size} + 1;
}

std::uint64_t drop_all(const Items& items, unsigned order) {
  std::uint64_t sum = 0;
  const std::size_t count = items.size();
  for (std::size_t i = 0; i < count; ++i) {
    const bool from_end = order == 1 || (order == 2 && i % 2 != 0);
    const std::size_t step = order == 2 ? i / 2 : i;
    sum += drop_item(items[from_end ? count - 1 - step : step]);
  }
  return sum;
}

// Where blocks wait that an iteration keeps. Each place belongs to one thread, or, for a hand-over, to all.
class Places {
 public:
  // Leaves these in a place. -> what was there, perhaps null
  Items* exchange(std::uint32_t at, Items* items) { return places_[at].exchange(items); }

  std::uint64_t drop_rest() {
    std::uint64_t sum = 0;
    for (auto& place : places_) {
      if (Items* items = place.exchange(nullptr)) {
        sum += drop_all(*items, 0);
        delete items;
      }
    }
    return sum;
  }

 private:
  std::array<std::atomic<Items*>, kPlaces> places_{};
};

Places places;

class Worker {
 public:
  Worker(unsigned number, unsigned threads, bool handover)
      : random_(number + 1),
        first_place_(handover ? 0 : kPlaces * number / threads),
        place_count_(handover ? kHandoverPlaces : kPlaces * (number + 1) / threads - first_place_),
        keep_every_(handover ? 2 : 8) {
    group_.reserve(kMostInGroup);
  }

  void iterate() {
    auto* kept = new Items;
    for (std::uint32_t size = 1; size <= kLargest; size += 1 + size / 8) do_group(size, *kept);
    const std::uint32_t place = first_place_ + random_.below(place_count_);
    const unsigned order = random_.below(3);
    Items* before = places.exchange(place, kept);
    if (before == nullptr) return;
    sum_ += drop_all(*before, order);
    delete before;
  }

  std::uint64_t sum() const { return sum_; }
  std::uint64_t allocations() const { return allocations_; }

 private:
  void do_group(std::uint32_t size, Items& kept) {
    const std::size_t count = std::min(kMostInGroup, kGroupBytes / size);
    group_.clear();
    for (std::size_t i = 0; i < count; ++i) {
      const Item item = make_item(size, random_.next());
      (i % keep_every_ == keep_every_ - 1 ? kept : group_).push_back(item);
    }
    allocations_ += count;
    sum_ += drop_all(group_, random_.below(3));
  }

  bench::Random random_;
  std::uint32_t first_place_;
  std::uint32_t place_count_;
  std::size_t keep_every_;
  Items group_;
  std::uint64_t sum_ = 0;
  std::uint64_t allocations_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const bool handover = arguments.number("handover", 0) != 0;
  const unsigned long iterations = arguments.scaled(kIterations);
  const unsigned threads = arguments.threads;
  if (threads > kPlaces) {
    std::fprintf(stderr, "no more than %u threads\n", kPlaces);
    return 2;
  }
  std::uint64_t sum = bench::in_threads(threads, [&](unsigned number) {
    Worker worker(number, threads, handover);
    const bench::Share share(iterations, number, threads);
    for (unsigned long left = share.size(); left > 0; --left) worker.iterate();
    bench::count_operations(worker.allocations());
    return worker.sum();
  });
  sum += places.drop_rest();
  return bench::report(sum);
}
