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

// The table is committed for this much of the window first, and then for twice as much each time.
constexpr size_t kFirstCover = size_t{1} << 30;

// Parts of the addresses up to the table that are left to others: the lowest, where programs place memory themselves and
// AddressSanitizer has its shadow, and those behind the program's image, where its data segment grows.
constexpr size_t kLowestShare = 6;
constexpr size_t kSegmentShare = 128;

// The window begins anywhere in this much of its aligned place, so that large windows, which have few places, have as many
// beginnings as others. Headers before it are read, for foreign pointers, and never written.
constexpr size_t kSkippedShare = 32;
constexpr size_t most_skipped(size_t window_bytes) { return larger(kFirstCover, window_bytes / kSkippedShare); }

// The table begins anywhere in so many bytes, since the kernel may align it to huge pages.
constexpr size_t kTableRoom = kHugePageBytes;

// The bits of a place that are zero, so that the headers of a small program, at most 24, lie in one page.
constexpr size_t kNoPlace = 0xc00;

constexpr size_t table_bytes_for(size_t window_bytes) { return window_bytes >> kUnitShift << kHeaderShift; }

constinit Mutex g_lock{Rank::kUnits};
constinit Slab* g_spare ACRE_GUARDED_BY(g_lock) = nullptr;
constinit std::atomic<size_t> g_covered{0};  // bytes from g_aligned on; headers from g_unused to there can be written
constinit size_t g_shown ACRE_GUARDED_BY(g_lock) = 0;  // the same of headers that can be read: a power of two
constinit Address g_aligned = 0;             // Place::aligned
constinit size_t g_window_bytes = 0;         // from g_aligned on; 0: no table
constinit size_t g_unused = 0;               // bytes from g_aligned on, before the window, whose headers are never written

size_t wanted_window() {
  size_t bytes = os::physical_memory() * kWindowPerMemory;
  bytes = smaller(larger(bytes, kLeastWindow), kMostWindow);
  bytes = size_t{1} << floor_log2(bytes);
  size_t limit = os::address_space_limit();
  if (limit == SIZE_MAX) return bytes;
  while (bytes != 0 && (table_bytes_for(bytes) > limit / kTableShareOfLimit || bytes / 2 > limit)) bytes /= 2;
  return bytes >= kFirstCover ? bytes : 0;
}

void set_mask(size_t window_bytes) ACRE_REQUIRES(g_lock) {
  const size_t mask = table_bytes_for(window_bytes) - sizeof(Slab);
  __atomic_store_n(&g_headers_mask, mask, __ATOMIC_RELEASE);
  if (g_table != g_headers) return;
  __atomic_store_n(&g_mask, mask, __ATOMIC_RELEASE);
  if (g_gated_table == g_table) __atomic_store_n(&g_gated_mask, mask, __ATOMIC_RELEASE);
}

size_t table_page() { return larger(os::page_bytes(), kPageBytes); }
Address place_of_header(size_t offset) { return address_of(g_headers) + table_bytes_for(offset); }

// Makes the table writable from `covered` to `next`, and readable as far as the mask reaches then.
ACRE_NOINLINE bool extend(size_t covered, size_t next) ACRE_REQUIRES(g_lock) {
  const size_t shown = size_t{1} << (floor_log2(next - 1) + 1);
  const size_t page = table_page();
  const bool begins = g_shown == 0;
  if (shown > g_shown && (shown > next || (begins && covered != 0))) {
    const Address start = begins ? align_down(place_of_header(0), page) : align_up(place_of_header(g_shown), page);
    if (!os::commit_to_read(pointer_to(start), align_up(place_of_header(shown), page) - start)) return false;
  }
  const Address start = align_down(place_of_header(covered), page);
  if (!os::commit(pointer_to(start), align_up(place_of_header(next), page) - start)) return false;
  if (shown > g_shown) set_mask(g_shown = shown);
  g_covered.store(next, std::memory_order_release);
  return true;
}

ACRE_APART bool cover_more(size_t window_bytes) {
  Lock lock(g_lock);
  for (;;) {
    const size_t covered = g_covered.load(std::memory_order_relaxed);
    if (covered >= window_bytes) return true;
    const size_t next = smaller(g_unused + 2 * (covered - g_unused), g_window_bytes);
    if (next == covered || !extend(covered, next)) return false;
  }
}

// Commits the table for this many bytes from g_aligned on.
bool cover(size_t window_bytes) {
  return ACRE_LIKELY(g_covered.load(std::memory_order_acquire) >= window_bytes) || cover_more(window_bytes);
}

// Windows that lie between two addresses.
size_t places_between(Address low, Address high, size_t bytes) {
  low = align_up(low, bytes);
  return low < high ? (high - low) / bytes : 0;
}

}  // namespace

constinit Slab* g_table = &g_no_slab;
constinit size_t g_mask = 0;
constinit Slab* g_headers = &g_no_slab;
constinit size_t g_headers_mask = 0;
constinit Slab* g_gated_table = &g_no_slab;
constinit size_t g_gated_mask = 0;

Place place_for(Address table, size_t bytes, const os::Secrets& secrets) {
  if (table < 2 * bytes) return {align_up(table + table_bytes_for(bytes) + kTableRoom, bytes), 0};  // as under valgrind
  const Address lowest = table / kLowestShare;
  const bool is_between = secrets.image > lowest && secrets.image < table;
  const Address above_image = is_between ? secrets.image + table / kSegmentShare : lowest;
  const Address below_image = is_between ? align_down(secrets.image, bytes) : lowest;
  // Thread sanitizer has shadows for the highest addresses alone, and address sanitizer has its heap in the middle.
  constexpr bool kOnlyBelowTable = ACRE_TSAN || ACRE_ASAN;
  const size_t above = kOnlyBelowTable ? 0 : places_between(above_image, table, bytes);
  const size_t below = kOnlyBelowTable ? 0 : places_between(lowest, below_image, bytes);
  const size_t skipped = (secrets.window >> 32) % (most_skipped(bytes) / kHugePageBytes) * kHugePageBytes;
  if (above + below == 0) return {align_down(table, bytes) - bytes, skipped};
  const size_t place = secrets.window % (above + below);
  if (place < above) return {align_up(above_image, bytes) + place * bytes, skipped};
  return {align_up(lowest, bytes) + (place - above) * bytes, skipped};
}

void initialise(const os::Secrets& secrets) {
  const size_t bytes = options().unit_table ? wanted_window() : 0;
  if (bytes == 0) return;
  // A page before the table and one behind it stay out of reach.
  const size_t reserved = table_bytes_for(bytes) + kTableRoom + 2 * table_page();
  void* memory = os::reserve(reserved);
  if (memory == nullptr) return;
  const Address table = address_of(memory) + table_page() + align_down(secrets.table % kTableRoom & ~kNoPlace, sizeof(Slab));
  const Place place = place_for(table, bytes, secrets);
  Lock lock(g_lock);
  g_headers = static_cast<Slab*>(pointer_to(table));
  if (!options().hardened) g_table = g_headers;
  g_unused = align_down(place.skipped, kFirstCover);
  if (!extend(g_unused, g_unused + kFirstCover)) {
    g_table = g_headers = &g_no_slab;
    g_unused = 0;
    os::unmap(memory, reserved);
    return;
  }
  window::place(place.aligned + place.skipped, bytes - place.skipped);
  g_aligned = place.aligned;
  g_window_bytes = bytes;
}

Slab* first_header() { return header_at(pointer_to(window::start())); }

void show_gated() {
  g_gated_table = g_table;
  g_gated_mask = g_mask;
}

Slab* header_for(const Run* run) {
  if (window::contains(run->base) && cover(run->end() - g_aligned)) return g_headers + ((run->base - g_aligned) >> kUnitShift);
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
  if (address_of(slab) - address_of(g_headers) < reserved_bytes()) return;
  Lock lock(g_lock);
  slab->next = g_spare;
  g_spare = slab;
}

size_t used_bytes() {
  const size_t covered = g_covered.load(std::memory_order_relaxed);
  if (covered == 0) return 0;  // there is no table
  const size_t reached = covered - (window::start() - g_aligned);
  return table_bytes_for(smaller(window::used_bytes(), reached));
}
size_t committed_bytes() { return table_bytes_for(g_covered.load(std::memory_order_relaxed) - g_unused); }
size_t reserved_bytes() { return table_bytes_for(g_window_bytes); }

LockCounts lock_counts() { return g_lock.counts(); }

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::unit_table
