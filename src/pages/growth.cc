// How an arena grows: by chunks of address space, and by whole huge pages of memory.
#include "pages/huge_pages.h"
#include "pages/limit.h"
#include "pages/on_growth.h"
#include "pages/page_heap.h"
#include "pages/window.h"
#include "tables/options.h"

namespace acre {

namespace {

// Address space is obtained in growing steps: it costs nothing until it is touched, and runs find neighbours to
// coalesce with. Where it is refused (`ulimit -v`, strict overcommit), only what the request needs is asked for.
constexpr size_t kFirstGrowth = size_t{4} << 20;
constexpr size_t kDoublingUpTo = size_t{32} << 20;
constexpr size_t kGrowthShare = 8;
constexpr size_t kMostGrowth = size_t{256} << 20;

size_t growth(size_t had) {
  if (options().chunk != 0) return static_cast<size_t>(options().chunk);
  if (had < kDoublingUpTo) return larger(had, kFirstGrowth);
  return smaller(larger(had / kGrowthShare, kDoublingUpTo), kMostGrowth);
}

static_assert(FreeRuns::bin_of(FreeRuns::kMostPages) == FreeRuns::kBins - 1);
static_assert(window::kRunReach >> kPageShift <= FreeRuns::kMostPages, "no run crosses a multiple of it");
static_assert(2 * window::kMostChunk >> kPageShift <= FreeRuns::kMostPages, "no chunk has room for more, aligned to more");

}  // namespace

// Arenas that keep chunks start with less, since there may be many of them with little in each.
size_t PageHeap::step(size_t had) const {
  if (keeps_chunks_ && options().chunk == 0) {
    if (borrows() && had < kHugePageBytes) return larger(had, kFirstLoan);
    if (had == 0) return kHugePageBytes;
  }
  const size_t most = most_growth();
  return most == 0 ? growth(had) : smaller(growth(had), most);
}

window::Chunk PageHeap::get_chunk(size_t pages, size_t align_pages, size_t wanted) {
  Source* from = source();
  if (borrows()) {
    const window::Chunk chunk = borrow(pages, align_pages, wanted);
    if (chunk.start != 0) return chunk;
  }
  const size_t needed = (pages + align_pages - 1) << kPageShift;
  const auto get = [&](size_t bytes) {
    if (ACRE_LIKELY(from == nullptr)) return window::allocate(bytes);
    window::Chunk chunk = from->chunk(bytes, bytes == needed);
    if (chunk.start == 0 || chunk.zeroed || limit::take(chunk.bytes)) return chunk;
    from->release_chunk(chunk);  // dirty pages would count as held, and the limit is reached
    return window::Chunk{};
  };
  window::Chunk chunk = get(larger(needed, wanted));
  if (chunk.start == 0 && wanted > needed) chunk = get(needed);
  if (chunk.start == 0) return chunk;
  if (ACRE_UNLIKELY(options().huge_pages == HugePages::kAll) && from == nullptr) {
    huge_pages::note_chunk(chunk.start, chunk.bytes);
  }
  on_growth::tell(chunk.bytes);
  return chunk;
}

void PageHeap::insert_run(Run* run, const window::Chunk& chunk) {
  run->base = chunk.start;
  run->pages = chunk.bytes >> kPageShift;
  counts_.obtained += run->pages;
  insert_free(run, chunk.zeroed ? Holds::kClean : Holds::kDirty);
}

bool PageHeap::obtain_chunk(size_t pages, size_t align_pages) {
  if ((pages + align_pages - 1) << kPageShift > window::kMostChunk) return false;
  Run* run;  // taken first, so that a chunk cannot be lost
  Run* record = nullptr;
  size_t wanted;
  {
    Lock lock(lock_);
    if (header_count_ < kHeadersPerOperation) return true;  // another thread took the headers: the caller tries again
    wanted = step(counts_.obtained << kPageShift);
    run = take_header();
    if (keeps_chunks_) record = take_header();
  }
  const window::Chunk chunk = get_chunk(pages, align_pages, wanted);
  const bool is_had = chunk.start != 0;
  Lock lock(lock_);
  if (record != nullptr && is_had) {
    keep_chunk(record, chunk.start, chunk.bytes, source() == nullptr ? Backing::kAnonymous : Backing::kSource);
  } else if (record != nullptr) {
    drop_header(record);
  }
  if (is_had) {
    insert_run(run, chunk);
  } else {
    drop_header(run);
  }
  return is_had;
}

}  // namespace acre
