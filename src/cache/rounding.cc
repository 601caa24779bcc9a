#include "cache/rounding.h"

#include <atomic>

#include "base/compiler.h"
#include "base/units.h"

namespace acre::rounding {

namespace {

struct Sample {
  std::atomic<uint64_t> requests{0};
  std::atomic<uint64_t> bytes{0};  // by which the blocks were larger
};
constinit Sample g_samples[kSmallClasses];

}  // namespace

void note(SizeClass c, size_t n) {
  g_samples[c].bytes.fetch_add(size_of_class(c) - n, std::memory_order_relaxed);
  g_samples[c].requests.fetch_add(1, std::memory_order_relaxed);
}

ACRE_COLD size_t of(SizeClass c) {
  const uint64_t requests = g_samples[c].requests.load(std::memory_order_relaxed);
  const uint64_t bytes = g_samples[c].bytes.load(std::memory_order_relaxed);
  if (requests == 0) return (size_of_class(c) - (c == 0 ? 0 : size_of_class(c - 1)) - 1) / 2;
  return smaller((bytes + requests / 2) / requests, size_of_class(c));
}

}  // namespace acre::rounding
