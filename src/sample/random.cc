#include "sample/random.h"

#include <sys/auxv.h>

#include <atomic>
#include <cstring>

#include "base/units.h"
#include "os/os.h"

namespace acre::random {

namespace {

constexpr double kLn2 = 0.693147180559945309417;
constexpr double kSqrt2 = 1.41421356237309504880;
constexpr uint64_t kStep = 0x9e3779b97f4a7c15;

constinit std::atomic<uint64_t> g_state{0};

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// From the kernel's random bytes for the process, and the time. A child of fork continues its parent's sequence.
uint64_t own_seed() {
  uint64_t random = 0;
  if (const void* bytes = pointer_to(getauxval(AT_RANDOM))) memcpy(&random, bytes, sizeof random);
  return random ^ (os::now_ms() << 32);
}

}  // namespace

// The seed is mixed: otherwise two seeds a few steps apart would give the same sequence, shifted.
void seed(uint64_t seed) { g_state.store(mix(seed != 0 ? seed : own_seed()), std::memory_order_relaxed); }

uint64_t next() { return mix(g_state.fetch_add(kStep, std::memory_order_relaxed) + kStep); }

// x = m * 2^e with m about 1; ln m = 2 artanh(s), s = (m - 1) / (m + 1), whose series converges fast.
double logarithm(double x) {
  constexpr unsigned kFractionBits = 52;
  constexpr uint64_t kExponentOf1 = uint64_t{1023} << kFractionBits;
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  int exponent = static_cast<int>(bits >> kFractionBits) - 1023;
  bits = (bits & ((uint64_t{1} << kFractionBits) - 1)) | kExponentOf1;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > kSqrt2) {
    m /= 2;
    ++exponent;
  }
  const double s = (m - 1) / (m + 1);
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * (s * s) + 1.0 / n;
  return 2 * s * sum + exponent * kLn2;
}

// Taylor's series, which keeps all digits for small x. A larger x is made small by powers of two.
double one_minus_exp(double x) {
  if (x > 40) return 1;
  if (x <= 0.5) {
    double sum = 0;
    for (int n = 16; n >= 1; --n) sum = (1 - sum) * (x / n);  // no division waits for another
    return sum;
  }
  const int halvings = static_cast<int>(x / kLn2);
  double rest = 1 - one_minus_exp((x - halvings * kLn2) / 2);
  rest *= rest;
  return 1 - rest / static_cast<double>(uint64_t{1} << halvings);
}

double exponential() {
  constexpr double kUnit = 1.0 / static_cast<double>(uint64_t{1} << 53);
  return -logarithm(static_cast<double>((next() >> 11) + 1) * kUnit);
}

}  // namespace acre::random
