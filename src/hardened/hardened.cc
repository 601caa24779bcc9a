#include "hardened/hardened.h"

#include <atomic>

#include "base/hash.h"
#include "cache/large.h"
#include "hardened/tail.h"
#include "slab/guard_pages.h"
#include "slab/order.h"
#include "tables/options.h"

namespace acre::hardened {

constinit bool g_on = false;
constinit TailSecrets g_tail_secrets;

namespace {

constinit std::atomic<uint64_t> g_seeds{0};
constinit uint64_t g_secret = 0;

}  // namespace

// Steps of 2^64 over the golden ratio never meet a value twice; the secret hides where they are.
uint64_t new_seed() {
  const uint64_t step = g_seeds.fetch_add(kHashFactor, std::memory_order_relaxed);
  return hash_of(pointer_to(step ^ g_secret)) | 1;
}

void start(const os::Secrets& secrets) {
  g_on = true;
  // Of all that is secret, by the hash of the tails with other factors.
  g_tail_secrets = {secrets.links, secrets.window | 1};
  const auto secret = [&secrets](uint64_t use) { return hash_of(pointer_to(secrets.table ^ use * kHashFactor)); };
  const TailSecrets tails = {secret(1), secret(2) | 1};
  g_secret = secret(3);
  g_tail_secrets = tails;
  slab::order_by_chance(new_seed());
  guard_pages::start();
  large::forbid_resizing();
  hooks::observe_all();
}

}  // namespace acre::hardened
