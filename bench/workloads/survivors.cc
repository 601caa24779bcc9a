// Threads that come and go, and blocks that outlive them: what a pool of short-lived workers leaves in a cache
// or in tables. A thread makes and frees blocks of its own at random places; one in eight of those that it would
// free goes to the table instead, and the block that lay in its place is freed: as a rule by a thread that was
// not born yet when the block's own thread ended.
//
// THREADS live at a time, 400 lives in all. A block stays in the table for some 20 lives.
//   operations=N   of a life
//   table=N        places in the table
#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kLives = 400;  // shared by the lines of threads
constexpr unsigned long kOperations = 50'000;
constexpr std::size_t kPlaces = 1'000;       // of a thread
constexpr unsigned long kTable = 125'000;    // of the process: blocks that survive
constexpr std::uint32_t kSurvives = 8;       // one in so many

// Each place is exchanged: whoever puts a block there owns what it finds.
using Table = std::vector<std::atomic<bench::Block*>>;

bench::Block* make_any(bench::Random& random) {
  const std::size_t size = random.log_size(4, 12);
  return bench::make_block(size, random.next());
}

// -> the thread's part of the checksum
std::uint64_t live(std::uint64_t seed, unsigned long operations, Table& table) {
  bench::Random random(seed);
  std::vector<bench::Block*> places(kPlaces);
  std::uint64_t sum = 0;
  for (unsigned long i = 0; i < operations; ++i) {
    bench::Block*& place = places[random.below(kPlaces)];
    if (place != nullptr && random.below(kSurvives) == 0) {
      place = table[random.below(static_cast<std::uint32_t>(table.size()))].exchange(place);
    }
    sum += bench::drop_block(place);
    place = make_any(random);
  }
  for (bench::Block* block : places) sum += bench::drop_block(block);
  bench::count_operations(operations);
  return sum;
}

// One thread after the other. Each is started by the one that started the line, when the one before has ended.
std::uint64_t line(unsigned number, unsigned long lives, unsigned long operations, Table& table) {
  std::uint64_t sum = 0;
  for (unsigned long life = 0; life < lives; ++life) {
    std::thread([&] { sum += live(number * kLives + life + 1, operations, table); }).join();
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned long lives = std::max(2ul, arguments.scaled(kLives) / arguments.threads);
  const unsigned long operations = arguments.number("operations", kOperations);
  Table table(std::max(1ul, arguments.number("table", kTable)));
  std::uint64_t total =
      bench::in_threads(arguments.threads, [&](unsigned t) { return line(t, lives, operations, table); });
  for (auto& place : table) total += bench::drop_block(place.load());
  return bench::report(total);
}
