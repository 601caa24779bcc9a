#include "pages/page_map.h"

#include "os/os.h"

namespace acre {

constinit PageMap g_page_map;

static constinit std::atomic<size_t> g_leaf_bytes{0};

size_t PageMap::mapped_bytes() { return g_leaf_bytes.load(std::memory_order_relaxed); }

Run* PageMap::find_covering(const void* p) const {
  for (Address at = align_down(address_of(p), kPageBytes); at != 0; at -= kPageBytes) {
    Entry* e = entry(at);
    if (e == nullptr) return nullptr;
    Run* run = e->load(std::memory_order_acquire);
    if (run != nullptr) return address_of(p) - run->base < run->bytes() ? run : nullptr;
  }
  return nullptr;
}

void PageMap::set_all(Run* run, Run* value) {
  for (Address a = run->base; a < run->end();) {
    Entry* at = entry(a);
    Address leaf_end = align_up(a + 1, size_t{1} << kLeafShift);
    for (; a < run->end() && a < leaf_end; a += kPageBytes) (at++)->store(value, std::memory_order_release);
  }
}

void PageMap::set_ends(Run* run, Run* value) {
  entry(run->base)->store(value, std::memory_order_release);
  if (run->pages > 1) entry(run->end() - kPageBytes)->store(value, std::memory_order_release);
}

bool PageMap::prepare(Address start, size_t bytes) {
  constexpr size_t kLeafBytes = kLeafEntries * sizeof(Entry);
  if ((start + bytes - 1) >> kAddressBits != 0) return false;
  for (Address i = start >> kLeafShift; i <= (start + bytes - 1) >> kLeafShift; ++i) {
    if (leaves_[i].load(std::memory_order_acquire) != nullptr) continue;
    void* memory = os::map(kLeafBytes);
    if (memory == nullptr) return false;
    Entry* expected = nullptr;
    if (!leaves_[i].compare_exchange_strong(expected, static_cast<Entry*>(memory))) {
      os::unmap(memory, kLeafBytes);  // another thread was faster
    } else {
      g_leaf_bytes.fetch_add(kLeafBytes, std::memory_order_relaxed);
    }
  }
  return true;
}

}  // namespace acre
