// What each size costs when it is asked for the first time, and what the second time: for each power of two
// from 4 bytes to 4 MiB, fresh threads together allocate objects=N each and write to them, then free all and
// end; and so once more. After the malloc_benchmark by which SuperMalloc and lockfree-malloc were studied,
// that with 1 to 64 threads, with 100 and with 1000 objects. Runs are repeated, a hundred times with two
// threads.
//
// So 64 threads with 1000 objects of 4 MiB would have 250 GiB. Therefore
//   - no more than kAliveBytes are alive at a time: a thread at its share frees its oldest for a new one;
//   - no more than kBytes of a size are asked for in all first rounds together, and in all second ones: larger
//     sizes have fewer runs, and when that is not enough fewer objects.
//
// Extras, in seconds, of the allocations only (frees are in them where the first rule applies): first_round
// and second_round, and those of small (to 1 KiB), medium (to 32 KiB) and large sizes.
#include <algorithm>
#include <barrier>
#include <mutex>
#include <string>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned kFirstBit = 2;
constexpr unsigned kLastBit = 22;
constexpr unsigned long kRuns = 200;  // shared by the threads
constexpr unsigned long kAliveBytes = 256ul << 20;
constexpr unsigned long kBytes = 512ul << 20;

// How much of a size is done, by all threads and by each.
struct Plan {
  std::size_t size;
  unsigned threads;
  unsigned long runs;
  unsigned long objects;  // of a thread in a run
  unsigned long alive;    // of a thread at a time
};

Plan plan_for(unsigned bit, unsigned long objects, const bench::Arguments& arguments) {
  const std::size_t size = std::size_t{1} << bit;
  const unsigned long bytes = arguments.scaled(kBytes);
  const unsigned long threads = arguments.threads;
  const unsigned long most_objects = std::clamp(bytes / size / threads, 1ul, objects);
  const unsigned long most_runs = std::max(1ul, bytes / size / threads / most_objects);
  const unsigned long runs = std::clamp(arguments.scaled(kRuns) / threads, 1ul, most_runs);
  const unsigned long alive = std::clamp(kAliveBytes / size / threads, 1ul, most_objects);
  return {size, arguments.threads, runs, most_objects, alive};
}

using Object = unsigned char*;

// Too small for a size and a tag: the object's mark is kept beside it.
unsigned char mark_of(unsigned long number) { return static_cast<unsigned char>((number * 37) | 1); }

Object make_object(std::size_t size, unsigned char mark) {
  auto* object = static_cast<Object>(bench::allocate(size));
  for (std::size_t at = 0; at < size; at += bench::kPage) object[at] = mark;
  object[size - 1] = mark;
  return object;
}

std::uint64_t drop_object(Object object, std::size_t size, unsigned char mark) {
  bool intact = object[size - 1] == mark;
  for (std::size_t at = 0; at < size; at += bench::kPage) intact = intact && object[at] == mark;
  if (!intact) {
    std::fprintf(stderr, "an object of %zu bytes was overwritten\n", size);
    std::abort();
  }
  bench::release(object);
  return mark * size;
}

// A run of all threads, from the first one's first allocation to the last one's last.
class Round {
 public:
  explicit Round(const Plan& plan) : plan_(plan), together_(static_cast<std::ptrdiff_t>(plan.threads)) {}

  std::uint64_t run() {
    return bench::in_threads(plan_.threads, [this](unsigned number) { return work(number); });
  }

  double seconds() const { return std::chrono::duration<double>(last_ - first_).count(); }

 private:
  std::uint64_t work(unsigned number) {
    std::vector<Object> alive(plan_.alive);
    std::uint64_t sum = 0;
    const auto drop = [&](unsigned long i) {
      sum += drop_object(alive[i % plan_.alive], plan_.size, mark_of(number + i));
    };
    together_.arrive_and_wait();
    const bench::Clock::time_point begin = bench::Clock::now();
    for (unsigned long i = 0; i < plan_.objects; ++i) {
      if (i >= plan_.alive) drop(i - plan_.alive);
      alive[i % plan_.alive] = make_object(plan_.size, mark_of(number + i));
    }
    note(begin, bench::Clock::now());
    together_.arrive_and_wait();
    for (unsigned long i = plan_.objects - plan_.alive; i < plan_.objects; ++i) drop(i);
    bench::count_operations(plan_.objects);
    return sum;
  }

  void note(bench::Clock::time_point begin, bench::Clock::time_point end) {
    const std::lock_guard lock(lock_);
    first_ = std::min(first_, begin);
    last_ = std::max(last_, end);
  }

  const Plan plan_;
  std::barrier<> together_;
  std::mutex lock_;
  bench::Clock::time_point first_ = bench::Clock::time_point::max();
  bench::Clock::time_point last_ = bench::Clock::time_point::min();
};

// Seconds of the two rounds.
struct Seconds {
  double first = 0;
  double second = 0;

  void report(const char* sizes) const {
    bench::extra((std::string("first_") + sizes).c_str(), first);
    bench::extra((std::string("second_") + sizes).c_str(), second);
  }
};

std::uint64_t run_size(const Plan& plan, Seconds& seconds, Seconds& all) {
  std::uint64_t sum = 0;
  for (unsigned long left = plan.runs; left > 0; --left) {
    for (double Seconds::*which : {&Seconds::first, &Seconds::second}) {
      Round round(plan);
      sum += round.run();
      seconds.*which += round.seconds();
      all.*which += round.seconds();
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long objects = std::max(1ul, arguments.number("objects", 100));
  Seconds small, medium, large, all;
  std::uint64_t sum = 0;
  for (unsigned bit = kFirstBit; bit <= kLastBit; ++bit) {
    Seconds& seconds = bit <= 10 ? small : bit <= 15 ? medium : large;
    sum += run_size(plan_for(bit, objects, arguments), seconds, all);
  }
  all.report("round");
  small.report("small");
  medium.report("medium");
  large.report("large");
  return bench::report(sum);
}
