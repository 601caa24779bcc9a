// Pages that one arena borrows from another. Manual arenas may be many, with little in each. They borrow a few pages at
// a time from the first automatic arena. So neighbours share pages of the unit table and of the page map, and pages
// that one gives back serve the others, and malloc.
#include <cstddef>

#include "pages/limit.h"
#include "pages/metadata.h"
#include "pages/page_heap.h"
#include "tables/size_class.h"

namespace acre {

// A page of headers, for an arena that may be destroyed.
struct PageHeap::HeaderPage {
  Run run[kHeadersPerPage];
  HeaderPage* next;
};

void* PageHeap::take_header_page() {
  static_assert(sizeof(HeaderPage) <= kPageBytes && offsetof(HeaderPage, run) == 0);
  auto* page = static_cast<HeaderPage*>(metadata::allocate_pages(sizeof(HeaderPage)));
  if (page == nullptr) return nullptr;
  Lock lock(lock_);
  page->next = header_pages_;
  header_pages_ = page;
  return page;
}

void PageHeap::give_back_headers() {
  HeaderPage* page;
  {
    Lock lock(lock_);
    page = header_pages_;
    header_pages_ = nullptr;
    headers_ = nullptr;
    relaxed_store(header_count_, 0u);
    counts_.headers = 0;
  }
  while (page != nullptr) {
    HeaderPage* next = page->next;
    metadata::give_back_pages(page, sizeof(HeaderPage));
    page = next;
  }
}

// A loan is whole units, at which slab runs begin. A loan of a huge page or more is whole huge pages, so that arenas
// can have some made.
window::Chunk PageHeap::borrow(size_t pages, size_t align_pages, size_t wanted) {
  const auto whole = [this](size_t some) {
    const size_t unit = some < kPagesPerHugePage ? kRunUnitPages : kPagesPerHugePage;
    return lender_->lend(align_up(some, unit), unit);
  };
  const size_t needed = pages + (align_pages <= kRunUnitPages ? 0 : align_pages - 1);
  const window::Chunk chunk = whole(larger(needed, wanted >> kPageShift));
  return chunk.start != 0 ? chunk : whole(needed);
}

window::Chunk PageHeap::lend(size_t pages, size_t align_pages) {
  do {
    if (!reserve_headers()) return {};
    Lock lock(lock_);
    if (header_count_ < kHeadersPerOperation) continue;
    Run* run = free_[place(Holds::kClean)].find(pages, align_pages);
    if (run == nullptr) continue;
    const Address start = run->base + (FreeRuns::lead(run, align_pages) << kPageShift);
    drop_header(cut_out(run, start, start + (pages << kPageShift)));
    counts_.obtained -= pages;
    return {start, pages << kPageShift};
  } while (obtain_chunk(pages, align_pages));
  return {};
}

void PageHeap::take_back(Address start, size_t pages, Holds holds) {
  while (reserve_headers()) {
    Lock lock(lock_);
    if (header_count_ < kHeadersPerOperation) continue;
    Run* run = take_header();
    run->base = start;
    run->pages = pages;
    counts_.obtained += pages;
    insert_free(run, holds);
    return;
  }
  if (holds != Holds::kClean) limit::give_back(pages << kPageShift);
  window::release({start, pages << kPageShift});  // there is no memory for a header
}

}  // namespace acre
