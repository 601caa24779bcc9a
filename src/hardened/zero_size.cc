#include "hardened/zero_size.h"

#include <atomic>

#include "base/bits.h"
#include "base/units.h"
#include "hardened/hardened.h"
#include "os/os.h"

namespace acre::hardened::zero_size {

namespace {

constexpr size_t kStep = 16;                       // from one address to the next
constexpr size_t kBytes = size_t{4} << 20;
constexpr size_t kWords = kBytes / kStep / 64;
constexpr unsigned kTries = 8;

// A bit for each address: live. Only words that are used take memory.
constinit std::atomic<uint64_t> g_live[kWords];
constinit std::atomic<Address> g_base{0};

Address base() {
  Address base = g_base.load(std::memory_order_acquire);
  if (base != 0) return base;
  void* reserved = os::reserve(kBytes);
  if (reserved == nullptr) return 0;
  if (g_base.compare_exchange_strong(base, address_of(reserved))) return address_of(reserved);
  os::unmap(reserved, kBytes);  // another thread was first
  return base;
}

// Takes an address of this word. Null if all are live.
void* take(Address base, size_t word, unsigned from) {
  for (;;) {
    const uint64_t live = g_live[word].load(std::memory_order_relaxed);
    if (~live == 0) return nullptr;
    const uint64_t turned = from == 0 ? ~live : ~live >> from | ~live << (64 - from);
    const unsigned bit = (lowest_bit(turned) + from) % 64;
    if ((g_live[word].fetch_or(uint64_t{1} << bit, std::memory_order_acq_rel) >> bit & 1) != 0) continue;
    return pointer_to(base + (word * 64 + bit) * kStep);
  }
}

struct Place {
  size_t word;
  uint64_t bit;  // 0: no address that is handed out
};
Place place_of(const void* p) {
  const size_t offset = address_of(p) - g_base.load(std::memory_order_relaxed);
  if (offset % kStep != 0) return {0, 0};
  return {offset / kStep / 64, uint64_t{1} << (offset / kStep % 64)};
}

}  // namespace

void* allocate() {
  const Address at = base();
  if (at == 0) return nullptr;
  for (unsigned i = 0; i < kTries; ++i) {
    const uint64_t seed = new_seed();
    if (void* p = take(at, seed % kWords, seed >> 32 & 63)) return p;
  }
  for (size_t word = 0; word < kWords; ++word) {
    if (void* p = take(at, word, 0)) return p;
  }
  return nullptr;
}

bool contains(const void* p) {
  const Address base = g_base.load(std::memory_order_relaxed);
  return base != 0 && address_of(p) - base < kBytes;
}

bool is_live(const void* p) {
  const Place place = place_of(p);
  return (g_live[place.word].load(std::memory_order_relaxed) & place.bit) != 0;
}

bool free(void* p) {
  const Place place = place_of(p);
  return (g_live[place.word].fetch_and(~place.bit, std::memory_order_acq_rel) & place.bit) != 0;
}

}  // namespace acre::hardened::zero_size
