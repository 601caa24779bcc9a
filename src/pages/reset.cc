// Page runs of manual arenas: the arena knows all of its runs, so that they can be freed at once, and keeps to a limit.
#include <initializer_list>

#include "pages/huge_pages.h"
#include "pages/limit.h"
#include "pages/page_heap.h"

namespace acre {

void PageHeap::keep_chunks(PageHeap* lender) {
  keeps_chunks_ = true;
  lender_ = lender;
}

void PageHeap::set_limit(size_t pages) {
  Lock lock(lock_);
  limit_ = pages;
  count_huge(huge_hint_);
}

void PageHeap::count_huge(size_t pages) {
  __atomic_store_n(&huge_hint_, pages, __ATOMIC_RELAXED);
  most_used_ = limit_ == SIZE_MAX ? SIZE_MAX : limit_ - smaller(limit_, pages);
}

bool PageHeap::charge_huge(size_t pages) {
  Lock lock(lock_);
  if (over_limit(pages)) return false;
  count_huge(huge_hint_ + pages);
  return true;
}

void PageHeap::discharge_huge(size_t pages) {
  Lock lock(lock_);
  count_huge(huge_hint_ - pages);
}

void PageHeap::add_huge(Run* run) {
  Lock lock(lock_);
  huge_.add(run);
}

void PageHeap::remove_huge(Run* run) {
  Lock lock(lock_);
  huge_.remove(run);
}

Run* PageHeap::oldest_huge() {
  Lock lock(lock_);
  return huge_.oldest();
}

void PageHeap::keep_chunk(Run* record, Address start, size_t bytes, Backing backing) {
  record->backing = backing;
  record->base = start;
  record->pages = bytes >> kPageShift;
  Run** at = &chunks_;
  while (*at != nullptr && (*at)->base < start) at = &(*at)->node.next;
  record->node.next = *at;
  *at = record;
}

// A free run may reach into the next chunk, as neighbours coalesce. Pages being purged have no entry: wait for purges.
Run* PageHeap::used_runs() {
  lock_between_purges();
  Run* used = nullptr;
  Address at = 0;
  for (const Run* chunk = chunks_; chunk != nullptr; chunk = chunk->node.next) {
    at = larger(at, chunk->base);
    while (at < chunk->end()) {
      Run* run = g_page_map.find(pointer_to(at));
      at = run->end();
      if (run->kind == RunKind::kFree) continue;
      run->node.next = used;
      used = run;
    }
  }
  lock_.unlock();
  return used;
}

// Memory that crosses multiples of kRunReach becomes several runs, but one chunk, which the source gets back whole.
void PageHeap::add_chunk(Address start, size_t bytes) {
  Run* record = nullptr;
  for (size_t part; bytes != 0; start += part, bytes -= part) {
    part = smaller(bytes, align_down(start, window::kRunReach) + window::kRunReach - start);
    if (!reserve_headers()) return;  // lost: address space
    Lock lock(lock_);
    if (header_count_ < kHeadersPerOperation) return;
    Run* run = take_header();
    limit::take_in_any_case(part);
    if (record == nullptr) {
      record = take_header();
      keep_chunk(record, start, part, Backing::kSource);
    } else {
      record->pages += part >> kPageShift;
    }
    insert_run(run, {start, part, false});
  }
}

// *runs: the free runs of this chunk and of later ones, by address. On return: those that reach beyond this chunk.
void PageHeap::return_chunk(Run* chunk, Run** runs) {
  const bool is_lenders = chunk->backing == Backing::kAnonymous && lender_ != nullptr;
  for (Run* run; (run = *runs) != nullptr && run->base < chunk->end(); *runs = run->node.next) {
    const Address start = larger(run->base, chunk->base), end = smaller(run->end(), chunk->end());
    if (is_lenders) {
      lender_->take_back(start, (end - start) >> kPageShift, run->holds);
    } else if (run->holds != Holds::kClean) {
      limit::give_back(end - start);
    }
    if (run->end() > chunk->end()) break;
  }
  if (is_lenders) return;
  const window::Chunk memory{chunk->base, chunk->bytes()};
  source() == nullptr ? window::release(memory) : source()->release_chunk(memory);
}

void PageHeap::release_chunks() {
  lock_between_purges();
  Run* runs = nullptr;
  Run** last = &runs;
  Address at = 0;
  for (const Run* chunk = chunks_; chunk != nullptr; chunk = chunk->node.next) {
    at = larger(at, chunk->base);
    huge_pages::forget({chunk->base, chunk->end()});
    while (at < chunk->end()) {
      Run* run = g_page_map.find(pointer_to(at));
      at = run->end();
      counts_.obtained -= run->pages;
      remove_free(run);
      run->node = {};
      *last = run;
      last = &run->node.next;
    }
  }
  Run* chunks = chunks_;
  chunks_ = nullptr;
  lock_.unlock();
  Run* rest = runs;
  for (Run* chunk = chunks; chunk != nullptr; chunk = chunk->node.next) return_chunk(chunk, &rest);
  Lock lock(lock_);
  for (Run* list : {runs, chunks}) {
    for (Run* next; list != nullptr; list = next) {
      next = list->node.next;
      drop_header(list);
    }
  }
}

}  // namespace acre
