// The shape of rpmalloc's benchmark. Each thread keeps an array of blocks and goes through a number of
// loops; in each it replaces some blocks at random places. In every so-manyth loop it frees none of those
// that it replaces, but hands them to the next thread (while there is one), and frees what was handed to
// itself.
//
//   mode=random|fixed           blocks of any size, or a thread's blocks all of one
//   distribution=linear|exponential|gaussian
//                               how sizes lie between min and max: evenly, every doubling as likely as any
//                               other, or around the middle
//   cross=N                     every Nth loop hands its blocks over; 0: none does
//   loops=N blocks=N ops=N      a thread's loops, blocks in the array, blocks replaced in a loop
//   min=BYTES max=BYTES
//
// overhead is the most that was resident over the most that was live, as the program had asked for it.
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <latch>
#include <memory>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr std::uint32_t kSizes = 4096;

struct Shape {
  unsigned long loops, blocks, ops, cross;
  bool one_size;
  std::array<std::uint32_t, kSizes> sizes;  // to be drawn from
};

// A number from 0 to 1, to be placed between the smallest and the largest size.
double draw(bench::Random& random) { return random.below(1u << 20) / static_cast<double>((1u << 20) - 1); }

[[noreturn]] void refuse(const char* name, const char* value) {
  std::fprintf(stderr, "%s=%s is unknown\n", name, value);
  std::exit(2);
}

void fill_sizes(const bench::Arguments& arguments, std::array<std::uint32_t, kSizes>& sizes) {
  const char* distribution = arguments.text("distribution", "linear");
  const double smallest = std::max(16.0, static_cast<double>(arguments.number("min", 16)));
  const double largest = std::max(smallest, static_cast<double>(arguments.number("max", 1000)));
  const char kind = distribution[0];
  if (kind != 'l' && kind != 'e' && kind != 'g') refuse("distribution", distribution);
  bench::Random random(kSizes);
  for (std::uint32_t& size : sizes) {
    double part = draw(random);
    if (kind == 'g') part = (part + draw(random) + draw(random) + draw(random)) / 4;
    const double exact =
        kind == 'e' ? smallest * std::pow(largest / smallest, part) : smallest + (largest - smallest) * part;
    size = static_cast<std::uint32_t>(exact);
  }
}

Shape shape_of(const bench::Arguments& arguments) {
  Shape shape;
  const char* mode = arguments.text("mode", "random");
  shape.one_size = std::strcmp(mode, "fixed") == 0;
  if (!shape.one_size && std::strcmp(mode, "random") != 0) refuse("mode", mode);
  shape.loops = arguments.scaled(arguments.number("loops", 600));
  shape.blocks = std::max(1ul, arguments.number("blocks", 25'000));
  shape.ops = arguments.number("ops", 5'000);
  shape.cross = arguments.number("cross", 2);
  fill_sizes(arguments, shape.sizes);
  return shape;
}

// How many bytes are live, as requested. Threads tell it now and then.
class Ledger {
 public:
  void add(std::int64_t change) {
    const std::int64_t now = live_.fetch_add(change) + change;
    std::int64_t most = most_.load();
    while (now > most && !most_.compare_exchange_weak(most, now)) {
    }
  }

  double most() const { return static_cast<double>(most_.load()); }

 private:
  std::atomic<std::int64_t> live_{0};
  std::atomic<std::int64_t> most_{0};
};

struct Parcel {
  Parcel* next;
  std::vector<bench::Block*> blocks;
};

// Where other threads leave what this one is to free.
class alignas(128) Inbox {
 public:
  void put(std::vector<bench::Block*> blocks) {
    auto* parcel = new Parcel{nullptr, std::move(blocks)};
    parcel->next = first_.load(std::memory_order_relaxed);
    while (!first_.compare_exchange_weak(parcel->next, parcel)) {
    }
    waiting_.fetch_add(1);
  }

  Parcel* take_all() {
    waiting_.store(0);
    return first_.exchange(nullptr);
  }

  // Without a bound, a thread that has no processor for a while would be a heap of memory.
  bool is_full() const { return waiting_.load() >= kMost; }

  // Its thread ends. What is on its way just now is freed when all have ended.
  void close() { open_.store(false); }
  bool is_open() const { return open_.load(); }

 private:
  static constexpr unsigned kMost = 2;
  std::atomic<unsigned> waiting_{0};
  std::atomic<bool> open_{true};
  std::atomic<Parcel*> first_{nullptr};
};

class Worker {
 public:
  Worker(const Shape& shape, unsigned number, Ledger& ledger, Inbox& own, Inbox& next)
      : shape_(shape), random_(number + 1), ledger_(ledger), own_(own), next_(next), slots_(shape.blocks) {
    if (shape.one_size) only_size_ = any_size();
    change_ = static_cast<std::int64_t>(slots_.size() * sizeof slots_[0]);
  }

  void fill() {
    for (bench::Block*& slot : slots_) slot = make();
    tell();
  }

  // -> the thread's part of the checksum
  std::uint64_t work() {
    for (unsigned long loop = 1; loop <= shape_.loops; ++loop) {
      if (shape_.cross != 0 && loop % shape_.cross == 0) {
        hand_over();
        empty_inbox();
      } else {
        replace();
      }
    }
    for (bench::Block* slot : slots_) drop(slot);
    own_.close();
    empty_inbox();
    tell();
    bench::count_operations(shape_.blocks + shape_.loops * shape_.ops);
    return sum_;
  }

  void empty_inbox() {
    for (Parcel* parcel = own_.take_all(); parcel != nullptr;) {
      const std::unique_ptr<Parcel> opened(parcel);
      for (bench::Block* block : opened->blocks) drop(block);
      parcel = opened->next;
    }
  }

  std::uint64_t sum() const { return sum_; }

 private:
  std::uint32_t any_size() { return shape_.sizes[random_.below(kSizes)]; }

  bench::Block* make() {
    const std::uint32_t size = only_size_ != 0 ? only_size_ : any_size();
    note(size);
    return bench::make_block(size, random_.next());
  }

  void drop(bench::Block* block) {
    note(-static_cast<std::int64_t>(block->size));
    sum_ += bench::drop_block(block);
  }

  bench::Block*& any_slot() { return slots_[random_.below(static_cast<std::uint32_t>(slots_.size()))]; }

  void replace() {
    for (unsigned long i = 0; i < shape_.ops; ++i) {
      bench::Block*& slot = any_slot();
      drop(slot);
      slot = make();
    }
  }

  void hand_over() {
    while (next_.is_full() && next_.is_open()) {
      empty_inbox();
      sched_yield();
    }
    if (!next_.is_open()) return replace();
    std::vector<bench::Block*> given(shape_.ops);
    for (bench::Block*& block : given) {
      bench::Block*& slot = any_slot();
      block = slot;
      slot = make();
    }
    next_.put(std::move(given));
  }

  void note(std::int64_t change) {
    change_ += change;
    if (++untold_ == kUntold) tell();
  }

  void tell() {
    ledger_.add(change_);
    change_ = 0;
    untold_ = 0;
  }

  static constexpr unsigned kUntold = 16;

  const Shape& shape_;
  bench::Random random_;
  Ledger& ledger_;
  Inbox& own_;
  Inbox& next_;
  std::vector<bench::Block*> slots_;
  std::uint32_t only_size_ = 0;
  std::int64_t change_;  // of the bytes live, since the ledger was told
  unsigned untold_ = 0;
  std::uint64_t sum_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const Shape shape = shape_of(arguments);
  const unsigned count = arguments.threads;
  std::vector<Inbox> inboxes(count);
  Ledger ledger;
  std::latch filled(static_cast<std::ptrdiff_t>(count));  // all threads live, with all their blocks
  std::uint64_t total = bench::in_threads(count, [&](unsigned t) {
    Worker worker(shape, t, ledger, inboxes[t], inboxes[(t + 1) % count]);
    worker.fill();
    filled.arrive_and_wait();
    return worker.work();
  });
  Shape nothing = shape;
  nothing.blocks = 0;
  for (Inbox& inbox : inboxes) {  // what came after its thread had ended
    Worker last(nothing, 0, ledger, inbox, inbox);
    last.empty_inbox();
    total += last.sum();
  }
  bench::extra("overhead", bench::peak_resident_bytes() / ledger.most());
  return bench::report(total);
}
