#include "slab/unit_table.h"

#include <new>

#include "base/bits.h"
#include "base/mutex.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre::unit_table {

namespace {

constinit Slab g_no_slab;

// The window covers one to two times the machine's memory. Under `ulimit -v` the table takes a small part at most.
constexpr size_t kLeastWindow = size_t{4} << 30;
constexpr size_t kMostWindow = size_t{16} << 40;
constexpr size_t kWindowPerMemory = 2;
constexpr size_t kTableShareOfLimit = 64;

// The table is committed for this much of the window first, and then doubled.
constexpr size_t kFirstCover = size_t{1} << 30;

constexpr size_t table_bytes_for(size_t window_bytes) { return window_bytes >> kUnitShift << kHeaderShift; }

constinit Mutex g_lock{Rank::kUnits};
constinit Slab* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;
constinit std::atomic<size_t> g_covered{0};  // bytes of the window that the table has headers for

size_t wanted_window() {
  size_t bytes = os::physical_memory() * kWindowPerMemory;
  bytes = smaller(larger(bytes, kLeastWindow), kMostWindow);
  bytes = size_t{1} << floor_log2(bytes);
  size_t limit = os::address_space_limit();
  if (limit == SIZE_MAX) return bytes;
  while (bytes != 0 && (table_bytes_for(bytes) > limit / kTableShareOfLimit || bytes / 2 > limit)) bytes /= 2;
  return bytes >= kFirstCover ? bytes : 0;
}

void set_mask(size_t window_bytes) {
  const size_t mask = table_bytes_for(window_bytes) - sizeof(Slab);
  __atomic_store_n(&g_mask, mask, __ATOMIC_RELEASE);
  if (g_gated_table == g_table) __atomic_store_n(&g_gated_mask, mask, __ATOMIC_RELEASE);
}

// Commits the table for this much of the window. Another thread may do so at the same time: harmless.
bool cover(size_t window_bytes) {
  size_t covered = g_covered.load(std::memory_order_acquire);
  while (covered < window_bytes) {
    size_t next = larger(covered * 2, kFirstCover);
    if (next > window::bytes()) return false;
    if (!os::commit(pointer_to(g_table), table_bytes_for(next))) return false;
    if (g_covered.compare_exchange_strong(covered, next)) {
      set_mask(next);
      covered = next;
    }
  }
  return true;
}

}  // namespace

constinit Address g_table = 0;
constinit size_t g_mask = 0;
constinit Address g_gated_table = 0;
constinit size_t g_gated_mask = 0;

void initialise() {
  g_table = g_gated_table = address_of(&g_no_slab);
  size_t bytes = options().unit_table ? wanted_window() : 0;
  if (bytes == 0) return;
  void* table = os::reserve(table_bytes_for(bytes));
  if (table == nullptr) return;
  if (!os::commit(table, table_bytes_for(kFirstCover))) {
    os::unmap(table, table_bytes_for(bytes));
    return;
  }
  // The kernel hands out addresses downwards from here, and acre fills its window upwards, so the two meet late. The
  // place is as random as the kernel's choice for the table.
  Address below = address_of(table);
  if (below < 2 * bytes) below = align_up(below + table_bytes_for(bytes), bytes) + bytes;  // as under valgrind
  window::place(below, bytes);
  g_table = address_of(table);
  g_covered.store(kFirstCover);
  set_mask(kFirstCover);
}

void show_gated() {
  g_gated_table = g_table;
  g_gated_mask = g_mask;
}

Slab* header_for(const Run* run) {
  if (window::contains(run->base) && cover(run->end() - window::start())) return at(pointer_to(run->base));
  {
    Lock lock(g_lock);
    if (Slab* slab = g_spare) {
      g_spare = slab->next;
      return slab;
    }
  }
  void* memory = metadata::allocate(sizeof(Slab));
  return memory == nullptr ? nullptr : new (memory) Slab;
}

void drop_header(Slab* slab) {
  if (address_of(slab) - g_table < table_bytes_for(window::bytes())) return;
  Lock lock(g_lock);
  slab->next = g_spare;
  g_spare = slab;
}

size_t used_bytes() { return smaller(table_bytes_for(window::used_bytes()), committed_bytes()); }
size_t committed_bytes() { return table_bytes_for(g_covered.load(std::memory_order_relaxed)); }
size_t reserved_bytes() { return table_bytes_for(window::bytes()); }

LockCounts lock_counts() { return g_lock.counts(); }

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::unit_table
