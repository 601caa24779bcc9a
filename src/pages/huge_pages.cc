#include "pages/huge_pages.h"

#include <atomic>

#include "base/atomics.h"
#include "os/os.h"
#include "pages/metadata.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre::huge_pages {

namespace {

// An arena gets huge pages from this size on. A huge page that stays nearly unused then adds at most a sixteenth.
constexpr size_t kFromPages = (size_t{32} << 20) / kPageBytes;
constexpr size_t kMostDirtyShare = 16;
constexpr size_t kMostSparedShare = 32;

// A huge page may take longer than small ones: the kernel has to make contiguous memory, or the hypervisor has to find
// memory. Then the next runs do without: kFirstPause of them, then twice as many each time, until a page is fast.
constexpr uint64_t kSlowNs = 1000000;  // about what 512 small pages take
constexpr uint32_t kFirstPause = 64;
constexpr uint32_t kLongestPause = 4096;
constinit std::atomic<uint32_t> g_pause{0};       // the last pause, in runs
constinit std::atomic<uint32_t> g_pause_left{0};

void learn(uint64_t took_ns) {
  const uint32_t last = g_pause.load(std::memory_order_relaxed);
  const uint32_t pause = took_ns < kSlowNs ? 0 : last == 0 ? kFirstPause : smaller(last * 2, kLongestPause);
  g_pause.store(pause, std::memory_order_relaxed);
  g_pause_left.store(pause, std::memory_order_relaxed);
}

bool is_pausing() {
  const uint32_t left = g_pause_left.load(std::memory_order_relaxed);
  if (left != 0) g_pause_left.store(left - 1, std::memory_order_relaxed);
  return left != 0;
}

// A bit for each huge page of the window, set while the page is whole. Null: not needed yet, or refused.
using Word = std::atomic<uint64_t>;
constexpr unsigned kWordBits = 64;
constinit std::atomic<Word*> g_whole{nullptr};

enum class Support : uint8_t { kUnknown, kNone, kThere };
constinit std::atomic<Support> g_support{Support::kUnknown};

Word* make_bits() {
  const size_t bits = window::bytes() / kHugePageBytes;
  auto* words = static_cast<Word*>(metadata::allocate((bits + kWordBits - 1) / kWordBits * sizeof(Word)));
  Word* expected = nullptr;  // if two threads race, the memory of one is lost
  if (words == nullptr || g_whole.compare_exchange_strong(expected, words)) return words;
  return expected;
}

bool are_supported() {
  Support support = g_support.load(std::memory_order_relaxed);
  if (support == Support::kUnknown) {
    const bool there = window::bytes() != 0 && os::has_huge_pages() && make_bits() != nullptr;
    support = there ? Support::kThere : Support::kNone;
    g_support.store(support, std::memory_order_relaxed);
  }
  return support == Support::kThere;
}

struct Bit {
  Word* word;
  uint64_t mask;
};
Bit bit_of(Address page) {
  Word* words = g_whole.load(std::memory_order_acquire);
  if (words == nullptr || !window::contains(page)) return {nullptr, 0};
  const size_t index = (page - window::start()) / kHugePageBytes;
  return {words + index / kWordBits, uint64_t{1} << index % kWordBits};
}

}  // namespace

ACRE_COLD bool is_whole(Address a) {
  const Bit bit = bit_of(a);
  return bit.word != nullptr && (bit.word->load(std::memory_order_relaxed) & bit.mask) != 0;
}

bool are_wanted(size_t used_pages, size_t dirty_pages) {
  if (used_pages < kFromPages || dirty_pages > used_pages / kMostDirtyShare) return false;
  if (options().huge_pages != HugePages::kAuto || relaxed_load(options().dirty_decay_ms) == 0) return false;
  return are_supported() && !is_pausing();
}

void populate(Address page) {
  const uint64_t start = os::thread_ns();
  if (!os::populate_huge_page(pointer_to(page))) g_support.store(Support::kNone, std::memory_order_relaxed);
  learn(os::thread_ns() - start);
  if (const Bit bit = bit_of(page); bit.word != nullptr) bit.word->fetch_or(bit.mask, std::memory_order_relaxed);
}

ACRE_COLD void note_chunk(Address start, size_t bytes) {
  if (!are_supported()) return;
  for (Address page = start; page < start + bytes; page += kHugePageBytes) {
    if (const Bit bit = bit_of(page); bit.word != nullptr) bit.word->fetch_or(bit.mask, std::memory_order_relaxed);
  }
}

size_t most_spared(size_t used_pages) { return used_pages / kMostSparedShare; }

ACRE_COLD Range without_broken(Range free, size_t least) {
  const Address first = align_down(free.start, kHugePageBytes);
  const Address first_end = smaller(first + kHugePageBytes, free.end);
  if (first_end - free.start < least && is_whole(first)) free.start = first_end;
  const Address last = larger(align_down(free.end - 1, kHugePageBytes), free.start);
  if (free.start < free.end && free.end - last < least && is_whole(last)) free.end = last;
  return free;
}

ACRE_COLD Address end_of_whole(Address start, Address end, Address last) {
  const Address page = align_down(end, kHugePageBytes);
  const bool is_free = page != end && page >= start && page + kHugePageBytes <= last;
  return is_free && is_whole(page) ? page + kHugePageBytes : end;
}

ACRE_COLD void forget(Range purged) {
  if (g_whole.load(std::memory_order_relaxed) == nullptr) return;
  const bool come_again = options().huge_pages == HugePages::kAll;
  for (Address page = align_down(purged.start, kHugePageBytes); page < purged.end; page += kHugePageBytes) {
    if (come_again && page >= purged.start && page + kHugePageBytes <= purged.end) continue;
    const Bit bit = bit_of(page);
    if (bit.word != nullptr) bit.word->fetch_and(~bit.mask, std::memory_order_relaxed);
  }
}

}  // namespace acre::huge_pages
