// A server under load, then idle, then under load again: how fast and how far does resident memory fall,
// and what does the second load pay for that? Each load opens connections, serves requests on them, while
// some close and others open, and at its end closes nine of ten. In the second load each thread serves
// what another one served in the first.
//
// While idle all threads sleep, but every 100 ms one of them allocates a little, as a server's timer
// would; with quiet=1 none does. The time of the idle phase is not judged.
//
// What a tenth of the connections leaves alive lies in all parts of the memory. With data=N all connections close
// instead, and what lives is a data set of N MiB, made before the first load.
//   idle_ratio       what is resident at the end of the idle phase, over the bytes live
//   idle_mean_ratio  the same on the average over the idle phase: how fast and how far in one figure
//   page_ratio       the pages that hold a live block, over the bytes live: no less can be resident unless blocks move
//   over_pages       what is resident at the end of the idle phase beyond the start, over these pages
//   settle_s         from when on resident memory stays within 10 % of its level at the end; the whole idle
//                    phase if more than nine tenths of the surplus stayed, and that is more than what lives
//   second_load_s    the time of the second load
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <chrono>
#include <thread>
#include <vector>

#include "common.h"
#include "threads.h"

namespace {

constexpr unsigned long kConnections = 5'000;   // shared by the threads, like the next
constexpr unsigned long kRequests = 1'500'000;  // a load
constexpr unsigned kChange = 64;                // requests between two that close and open a connection
constexpr unsigned kObjects = 24;               // of a connection
constexpr unsigned kTemporaries = 6;            // of a request
constexpr unsigned kIdleSeconds = 12;            // longer than the 10 s in which memory usually decays
constexpr unsigned kWholeIdle = 25;             // percent of the work from which on the idle phase has its whole length
constexpr double kShortestIdle = 0.2;
constexpr auto kTimer = std::chrono::milliseconds(100);
constexpr auto kSampling = std::chrono::milliseconds(20);

// Blocks of one connection: two buffers and what a session consists of.
struct Connection {
  std::array<bench::Block*, 2 + kObjects> blocks{};

  bool is_open() const { return blocks[0] != nullptr; }
};

bench::Block* make(bench::Random& random, std::size_t size) { return bench::make_block(size, random.next()); }

void open_connection(Connection& connection, bench::Random& random) {
  connection.blocks[0] = make(random, 8 << 10);
  connection.blocks[1] = make(random, 16 << 10);
  for (unsigned k = 2; k < connection.blocks.size(); ++k) {
    connection.blocks[k] = make(random, random.log_size(4, 11));
  }
  bench::count_operations(connection.blocks.size());
}

std::uint64_t close_connection(Connection& connection) {
  std::uint64_t sum = 0;
  for (bench::Block*& block : connection.blocks) {
    sum += bench::drop_block(block);
    block = nullptr;
  }
  return sum;
}

// One request: temporaries, an answer, and something in the session changes.
std::uint64_t serve(Connection& connection, bench::Random& random) {
  std::array<bench::Block*, kTemporaries> temporaries;
  for (bench::Block*& block : temporaries) block = make(random, random.log_size(5, 11));
  bench::Block* answer = make(random, random.log_size(11, 15));
  bench::Block*& object = connection.blocks[random.between(2, kObjects + 1)];
  std::uint64_t sum = bench::drop_block(object);
  object = make(random, random.log_size(4, 11));
  for (bench::Block* block : temporaries) sum += bench::drop_block(block);
  return sum + bench::drop_block(answer);
}

// One thread's part of a load, on its part of the connections.
class Load {
 public:
  Load(std::vector<Connection>& all, unsigned part, unsigned count, std::uint64_t seed, bool close_all)
      : close_all_(close_all),
        first_(all.size() * part / count),
        size_(all.size() * (part + 1) / count - first_),
        all_(all),
        random_(seed) {}

  std::uint64_t run(unsigned long requests) {
    std::uint64_t sum = 0;
    for (std::size_t k = 0; k < size_; ++k) {
      if (!at(k).is_open()) open_connection(at(k), random_);
    }
    for (unsigned long i = 0; i < requests; ++i) {
      Connection& connection = at(random_.below(static_cast<std::uint32_t>(size_)));
      if (i % kChange == 0) {
        sum += close_connection(connection);
        open_connection(connection, random_);
      }
      sum += serve(connection, random_);
    }
    for (std::size_t k = 0; k < size_; ++k) {
      if (random_.below(10) != 0 || close_all_) sum += close_connection(at(k));
    }
    bench::count_operations(requests * (kTemporaries + 2));
    return sum;
  }

 private:
  Connection& at(std::size_t k) { return all_[first_ + k]; }

  const bool close_all_;
  const std::size_t first_, size_;
  std::vector<Connection>& all_;
  bench::Random random_;
};

double live_bytes(const std::vector<Connection>& connections, const std::vector<bench::Block*>& data) {
  std::size_t total = data.capacity() * sizeof(bench::Block*);
  for (const bench::Block* block : data) total += block->size;
  total += connections.size() * sizeof(Connection);
  for (const Connection& connection : connections) {
    for (const bench::Block* block : connection.blocks) total += block != nullptr ? block->size : 0;
  }
  return static_cast<double>(total);
}

// Bytes of the pages that hold a part of a live block. Allocates nothing, so that it changes no allocator's memory.
double live_pages(const std::vector<Connection>& connections, const std::vector<bench::Block*>& data) {
  constexpr std::uintptr_t kPage = 4096;
  constexpr std::size_t kBytes = std::size_t{1} << 30;
  void* room = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return 0;
  auto* pages = static_cast<std::uintptr_t*>(room);
  std::size_t count = 0;
  const auto add = [&](const bench::Block* block) {
    if (block == nullptr) return;
    const auto start = reinterpret_cast<std::uintptr_t>(block), end = start + block->size;
    for (std::uintptr_t page = start / kPage; page * kPage < end && count < kBytes / sizeof page; ++page) {
      pages[count++] = page;
    }
  };
  for (const bench::Block* block : data) add(block);
  for (const Connection& connection : connections) {
    for (const bench::Block* block : connection.blocks) add(block);
  }
  std::sort(pages, pages + count);
  const auto different = static_cast<double>(std::unique(pages, pages + count) - pages);
  munmap(room, kBytes);
  return different * kPage;
}

std::vector<bench::Block*> make_data(std::size_t bytes) {
  std::vector<bench::Block*> data;
  bench::Random random(1);
  for (std::size_t made = 0; made < bytes; made += data.back()->size) {
    data.push_back(make(random, random.log_size(4, 11)));
  }
  return data;
}

void tick(double seconds) {
  const bench::Clock::time_point begin = bench::Clock::now();
  bench::Random random(0);
  std::array<bench::Block*, 16> blocks;
  while (bench::seconds_since(begin) < seconds) {
    for (bench::Block*& block : blocks) block = make(random, random.log_size(4, 12));
    for (bench::Block* block : blocks) bench::drop_block(block);
    std::this_thread::sleep_for(kTimer);
  }
}

// Resident memory while nothing happens. Calls nothing that allocates until the report.
class IdleWatch {
 public:
  explicit IdleWatch(double seconds) : seconds_(seconds) { levels_.reserve(points()); }

  void follow(double live, double pages) {
    live_ = live;
    pages_ = pages;
    const bench::Clock::time_point begin = bench::Clock::now();
    for (std::size_t at = 0; at < points(); ++at) {
      levels_.push_back(bench::resident_bytes());
      std::this_thread::sleep_until(begin + (at + 1) * kSampling);
    }
  }

  void report() const {
    double sum = 0;
    for (double level : levels_) sum += level;
    bench::extra("settle_s", settled_after());
    bench::extra("idle_ratio", levels_.back() / live_);
    bench::extra("idle_mean_ratio", sum / static_cast<double>(levels_.size()) / live_);
    bench::extra("page_ratio", pages_ / live_);
    bench::extra("over_pages", (levels_.back() - empty_) / pages_);
  }

 private:
  static constexpr double kStep = std::chrono::duration<double>(kSampling).count();

  std::size_t points() const { return static_cast<std::size_t>(seconds_ / kStep) + 1; }

  double settled_after() const {
    const double begin = levels_.front(), end = levels_.back();
    const bool kept = end - live_ > 0.9 * (begin - live_) && end > 2 * live_;
    if (kept) return seconds_;
    std::size_t at = levels_.size();
    while (at > 0 && levels_[at - 1] <= 1.1 * end) --at;
    return static_cast<double>(at) * kStep;
  }

  const double seconds_;
  const double empty_ = bench::resident_bytes();
  double live_ = 0;
  double pages_ = 0;
  std::vector<double> levels_;
};

// When each load began and ended.
struct Moments {
  std::array<bench::Clock::time_point, 4> times;
  unsigned count = 0;

  double load(unsigned number) const {
    return std::chrono::duration<double>(times[2 * number + 1] - times[2 * number]).count();
  }
};

}  // namespace

int main(int argc, char** argv) {
  const bench::Arguments arguments(argc, argv);
  const unsigned count = arguments.threads;
  const unsigned long requests = std::max(1ul, arguments.scaled(kRequests) / count);
  const bool quiet = arguments.number("quiet", 0) != 0;
  const double idle_share = std::min(1.0, static_cast<double>(arguments.percent) / kWholeIdle);
  const double idle_seconds = std::max(kShortestIdle, static_cast<double>(arguments.number("idle", kIdleSeconds)) * idle_share);
  const std::size_t data_bytes = (arguments.number("data", 0) << 20) / 100 * arguments.percent;
  IdleWatch watch(idle_seconds);
  std::vector<bench::Block*> data = make_data(data_bytes);
  std::vector<Connection> connections(std::max<std::size_t>(20 * count, arguments.scaled(kConnections)));
  Moments moments;
  std::barrier gate(count + 1, [&]() noexcept { moments.times[moments.count++] = bench::Clock::now(); });

  const auto load = [&](unsigned number, unsigned t) {
    gate.arrive_and_wait();
    const std::uint64_t seed = count * number + t + 1;
    const std::uint64_t sum =
        t == count ? 0 : Load(connections, (t + number) % count, count, seed, data_bytes != 0).run(requests);
    gate.arrive_and_wait();
    return sum;
  };
  std::uint64_t total = bench::in_threads(count + 1, [&](unsigned t) {  // the last one only watches
    std::uint64_t sum = load(0, t);
    if (t == count) watch.follow(live_bytes(connections, data), live_pages(connections, data));
    if (t == 0 && !quiet) tick(idle_seconds);
    return sum + load(1, t);
  });
  for (Connection& connection : connections) total += close_connection(connection);
  for (bench::Block* block : data) total += bench::drop_block(block);
  watch.report();
  bench::extra("second_load_s", moments.load(1));
  bench::judged_seconds(moments.load(0) + moments.load(1));
  return bench::report(total);
}
