#include "sample/clock.h"

#include <atomic>

#include "observe/sampler.h"
#include "sample/profile.h"
#include "sample/random.h"

namespace acre::clock {

namespace {

constexpr double kNever = 1e18;

constinit std::atomic<bool> g_has_guards{false};
constinit std::atomic<uint64_t> g_guard_mean{0};

// How many points a block of so many bytes has on average. kNever: for certain one.
double points(size_t bytes, uint64_t mean) {
  return mean == 0 ? kNever : static_cast<double>(bytes) / static_cast<double>(mean);
}
double points_of_profile(size_t bytes) { return profile::is_active() ? points(bytes, profile::mean()) : 0; }
double points_of_guards(size_t bytes) {
  return has_guards() && bytes <= kMostGuarded ? points(bytes, g_guard_mean.load(std::memory_order_relaxed)) : 0;
}

bool happens(double probability) {
  constexpr double kUnit = 1.0 / static_cast<double>(uint64_t{1} << 53);
  return static_cast<double>(random::next() >> 11) * kUnit < probability;
}

}  // namespace

void set_guards(bool on, uint64_t mean) {
  g_guard_mean.store(mean);
  g_has_guards.store(on);
}
bool has_guards() { return g_has_guards.load(std::memory_order_relaxed); }

// The distance to the next point is exponentially distributed.
uint64_t gap(size_t block_bytes) {
  const double rate = points_of_profile(block_bytes) + points_of_guards(block_bytes);
  if (rate >= kNever) return 0;
  const double blocks = rate == 0 ? kNever : random::exponential() / rate;
  return static_cast<uint64_t>(blocks < kNever ? blocks : kNever);
}

// The block has a point of one or the other. Without one of the profile, it has one of the guards.
uint8_t due(size_t block_bytes) {
  const double of_profile = points_of_profile(block_bytes), of_guards = points_of_guards(block_bytes);
  if (of_guards == 0) return of_profile == 0 ? 0 : sampler::kForProfile;
  if (of_profile == 0) return sampler::kForGuards;
  const double has_one = random::one_minus_exp(of_profile + of_guards);
  if (!happens(random::one_minus_exp(of_profile) / has_one)) return sampler::kForGuards;
  return sampler::kForProfile | (happens(random::one_minus_exp(of_guards)) ? sampler::kForGuards : 0);
}

}  // namespace acre::clock
