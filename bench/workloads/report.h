// What a workload says at its end, a line each, for the lab to read:
//   checksum HEX          what was computed; the same under every allocator
//   operations COUNT      allocations made, if the workload counts them
//   seconds S             the part of the run to be judged, if that is not all of it
//   extra NAME NUMBER     anything else worth comparing; less is better
//   latency_ns p50=N …    in the twin built with BENCH_LATENCY, of single calls of malloc and free
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <mutex>

namespace bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

inline std::atomic<std::uint64_t> g_operations{0};

// Called by each thread when it is done, not for each block.
inline void count_operations(std::uint64_t count) { g_operations.fetch_add(count, std::memory_order_relaxed); }

#ifdef BENCH_LATENCY

inline std::uint64_t ticks() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(Clock::now().time_since_epoch().count());
#endif
}

// Counts of durations in ticks: exact below 32, then 32 buckets a doubling (3 % wide).
class Durations {
 public:
  void add(std::uint64_t duration) {
    ++counts_[bucket_of(duration)];
    if (duration > longest_) longest_ = duration;
  }

  void add(const Durations& other) {
    for (std::size_t at = 0; at < kBuckets; ++at) counts_[at] += other.counts_[at];
    if (other.longest_ > longest_) longest_ = other.longest_;
  }

  // The duration that this share of all durations does not exceed.
  std::uint64_t quantile(double share) const {
    std::uint64_t all = 0;
    for (std::uint64_t count : counts_) all += count;
    const double wanted = share * static_cast<double>(all);
    std::uint64_t seen = 0;
    for (std::size_t at = 0; at < kBuckets; ++at) {
      seen += counts_[at];
      if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(largest_in(at), longest_);
    }
    return longest_;
  }

  std::uint64_t longest() const { return longest_; }

 private:
  static constexpr unsigned kBits = 5;
  static constexpr std::size_t kLinear = std::size_t{1} << kBits;
  static constexpr std::size_t kBuckets = (64 - kBits + 1) * kLinear;

  static std::size_t bucket_of(std::uint64_t duration) {
    if (duration < kLinear) return duration;
    const unsigned shift = static_cast<unsigned>(std::bit_width(duration)) - kBits - 1;
    return (shift + 1) * kLinear + ((duration >> shift) & (kLinear - 1));
  }

  static std::uint64_t largest_in(std::size_t bucket) {
    if (bucket < kLinear) return bucket;
    const std::size_t shift = bucket / kLinear - 1;
    return ((kLinear + bucket % kLinear + 1) << shift) - 1;
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t longest_ = 0;
};

inline std::mutex g_durations_lock;
inline Durations g_durations;

// A thread's own, joined to all when the thread ends.
struct ThreadDurations : Durations {
  ~ThreadDurations() {
    const std::lock_guard<std::mutex> lock(g_durations_lock);
    g_durations.add(*this);
  }
};
inline thread_local ThreadDurations t_durations;

class Stopwatch {
 public:
  Stopwatch() : begin_(ticks()) {}
  void stop() const { t_durations.add(ticks() - begin_); }

 private:
  std::uint64_t begin_;
};

struct Epoch {
  Clock::time_point time = Clock::now();
  std::uint64_t ticks = bench::ticks();
};
inline const Epoch g_epoch;

inline void report_latency() {
  const double ns_per_tick = seconds_since(g_epoch.time) * 1e9 / static_cast<double>(ticks() - g_epoch.ticks);
  const std::lock_guard<std::mutex> lock(g_durations_lock);
  g_durations.add(t_durations);  // the main thread's, which has not ended
  std::printf("latency_ns");
  const struct {
    const char* name;
    double share;
  } points[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}, {"p99.99", 0.9999}};
  for (const auto& point : points) {
    std::printf(" %s=%.0f", point.name, static_cast<double>(g_durations.quantile(point.share)) * ns_per_tick);
  }
  std::printf(" max=%.0f\n", static_cast<double>(g_durations.longest()) * ns_per_tick);
}

#else

class Stopwatch {
 public:
  void stop() const {}
};

inline void report_latency() {}

#endif

inline void extra(const char* name, double value) { std::printf("extra %s %.6g\n", name, value); }

inline void judged_seconds(double seconds) { std::printf("seconds %.9f\n", seconds); }

// The last call of main: return bench::report(checksum);
inline int report(std::uint64_t checksum) {
  if (const std::uint64_t count = g_operations.load()) {
    std::printf("operations %llu\n", static_cast<unsigned long long>(count));
  }
  report_latency();
  std::printf("checksum %016llx\n", static_cast<unsigned long long>(checksum));
  return 0;
}

}  // namespace bench
