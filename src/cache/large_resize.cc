// realloc of large blocks without a copy.
#include "cache/known_caller.h"
#include "cache/large.h"
#include "cache/thread_bytes.h"
#include "cache/upcalls.h"
#include "pages/huge.h"

namespace acre::large {

namespace {

constinit size_t g_most_resized = PTRDIFF_MAX;  // bytes

// Counts as if the new block was allocated and the old one freed.
void count_resized(size_t old_bytes, size_t new_bytes) {
  Heap* heap = heap_if_any();
  if (heap == nullptr || old_bytes == new_bytes) return;
  thread_bytes::count_freed(*heap, old_bytes);
  thread_bytes::count_allocated(*heap, new_bytes);
}

}  // namespace

void forbid_resizing() { g_most_resized = 0; }

enum class May : uint8_t { kStay, kMove };

static bool change_in_place(Run* run, size_t n) {
  const size_t pages = pages_for(n);
  if (run->kind == RunKind::kHuge) return huge::resize_in_place(run, n);
  if (pages >= run->pages) return !is_huge(n, kPageBytes) && run->home->grow_in_place(run, pages);
  run->home->shrink_in_place(run, pages);
  return true;
}

// Returns the block's run after the change. Null: nothing has changed.
static Run* change(Run* run, size_t n, May may) {
  const size_t pages = pages_for(n);
  if (pages > run->pages && limit::refuses((pages - run->pages) << kPageShift)) reclaim_before_refusal();
  const bool was_huge = run->kind == RunKind::kHuge;
  if (may == May::kMove && was_huge && n <= kHugeFrom / 2) return nullptr;  // reallocate() copies it to an arena
  if (change_in_place(run, n)) return run;
  if (may == May::kStay || pages < run->pages) return nullptr;
  return was_huge ? huge::grow_elsewhere(run, n) : move_to_other_run(run, n);
}

// Charges the tag with the growth of a block to n bytes. False: the limit refuses, or no block is so large.
ACRE_COLD static bool charge_growth(Tag& tag, size_t old_bytes, size_t n, size_t* charged) {
  const size_t wanted = block_bytes(n, 1);
  *charged = wanted - smaller(wanted, old_bytes);
  return wanted != 0 && tags::charge(tag, *charged);
}
ACRE_COLD static void settle_growth(Tag& tag, size_t old_bytes, size_t charged, size_t new_bytes) {
  const size_t surplus = old_bytes + charged - new_bytes;
  charged != 0 ? tags::discharge(tag, surplus) : tags::count_freed(tag, surplus);
  tags::note_peak(tag);
}

// The sampler and hooks see a change of size as a free and an allocation. What a huge block gains is fresh. If the
// block has moved, another thread may have the old address by now: a tracer (base/probes.h) may then take that thread's
// block for freed.
ACRE_COLD static void tell_of_resize(const void* block, size_t old_bytes, Ticket ticket, Run* to, size_t n) {
  if (fill::clears_sampled() && to->kind != RunKind::kHuge) fill::clear(pointer_to(to->base), old_bytes, to->bytes());
  if (ticket != kNoTicket) sampler::freed(block, old_bytes, ticket);
  if (sampler::is_on()) sampler::allocated_run(to);
  hooks::freeing(block);
  hooks::allocated(pointer_to(to->base), to->bytes(), n);
}

// As change(). The old header may be another block's afterwards, so its ticket is taken off and its tag is read before.
ACRE_APART static Run* resize_run(Run* run, size_t n, May may) {
  if (n > g_most_resized) return nullptr;
  if (hooks::is_on()) may = May::kStay;  // a hook is told of a free while the block is still the program's
  const size_t old_bytes = run->bytes();
  const void* block = pointer_to(run->base);
  const Ticket ticket = run->ticket;
  Tag* const tag = run->tag;
  size_t charged = 0;
  if (ACRE_UNLIKELY(tag != nullptr) && !charge_growth(*tag, old_bytes, n, &charged)) return nullptr;
  run->ticket = kNoTicket;
  Run* to = change(run, n, may);
  if (to == nullptr) run->ticket = ticket;
  if (ACRE_UNLIKELY(tag != nullptr)) settle_growth(*tag, old_bytes, charged, to == nullptr ? old_bytes : to->bytes());
  if (to == nullptr) return nullptr;
  to->tag = tag;
  to->asked = n;
  if (ACRE_UNLIKELY(ticket != kNoTicket || sampler::is_on())) tell_of_resize(block, old_bytes, ticket, to, n);
  count_resized(old_bytes, to->bytes());
  if (to->bytes() > old_bytes) report(pointer_to(to->base), n);
  return to;
}

// The bytes behind the n are checked before, and filled again, where they are (hardened/large_slack.cc).
static Run* resize_to(Run* run, size_t n, May may) {
  const bool has_slack = run->slack_filled;
  if (ACRE_UNLIKELY(has_slack)) hardened::check_slack(run, "realloc");
  Run* to = run;
  if (pages_for(n) != run->pages) {
    to = resize_run(run, n, may);
  } else {
    run->asked = n;
  }
  if (ACRE_UNLIKELY(has_slack) && to != nullptr) hardened::fill_slack(to);
  return to;
}

ACRE_APART bool resize_in_place(Run* run, size_t n) { return resize_to(run, n, May::kStay) != nullptr; }

void* resize(Run* run, size_t n) {
  Run* to = resize_to(run, n, May::kMove);
  return to == nullptr ? nullptr : pointer_to(to->base);
}

}  // namespace acre::large
