// Allocations of types with pointers (allocate_for_pointers of cache/upcalls.h), which allocation tokens of the
// compiler tell apart (entry/tokens.h). Each class has a second arena for them, and so have large blocks.
//
// No heap's private list ever has a block of these arenas, and no heap owns a run of them between two calls: all lists
// and runs of a heap serve any type. A block is taken from the bin, and goes back to its run when it leaves the
// quarantine.
#include <string.h>

#include "cache/large.h"
#include "cache/malloc.h"
#include "cache/new_handler.h"
#include "cache/placement.h"
#include "cache/registry.h"
#include "hardened/checks.h"
#include "hardened/protect.h"
#include "hardened/quarantine.h"

namespace acre::hardened {

namespace {

// For threads without a heap as well, which borrow one.
class SomeHeap {
 public:
  SomeHeap() : heap_(heap_if_any()), is_borrowed_(heap_ == nullptr) {
    if (is_borrowed_) heap_ = registry::enter_fallback_heap();
  }
  ~SomeHeap() {
    if (is_borrowed_ && heap_ != nullptr) registry::leave_fallback_heap(heap_);
  }
  SomeHeap(const SomeHeap&) = delete;
  SomeHeap& operator=(const SomeHeap&) = delete;
  Heap* operator->() const { return heap_; }
  Heap* get() const { return heap_; }

 private:
  Heap* heap_;
  bool is_borrowed_;
};

void* take_for_pointers(Heap& heap, Arena& home, SizeClass c) {
  tick(heap);
  void* block = ACRE_UNLIKELY(sampler::is_on()) ? sampler::allocate_seen(heap, home, c) : nullptr;
  return block != nullptr ? block : take_past_list(heap, home, c);
}

void* small_for_pointers(SizeClass c, const Request& request) {
  void* block = nullptr;
  {
    const SomeHeap heap;
    Arena* home = placement::home_of_pointers(c);
    if (heap.get() != nullptr && home != nullptr) block = take_for_pointers(*heap.get(), *home, c);
  }
  if (block == nullptr) return new_handler::ask() ? allocate_for_pointers(request) : out_of_memory(kSmallMax);
  protect(block, size_of_class(c), request.n, request.kind, nullptr);
  if (request.zeroed) memset(block, 0, request.n);
  return hooks::are_told() ? told(block, request.n) : block;
}

// Longer blocks than a chunk are mappings of their own.
void* large_for_pointers(const Request& request) {
  const size_t n = request.n;
  Arena* home = n <= PTRDIFF_MAX ? placement::home_of_pointers(kSmallClasses) : nullptr;
  if (home == nullptr) return out_of_memory(n);
  Run* run = find_guarded_run(n, request.alignment, home);
  void* block = run != nullptr ? large::hand_out(run, n, request.zeroed)
                               : large::allocate_in(home, n, request.alignment, request.zeroed);
  if (block != nullptr) set_kind(block, request.kind);
  return block;
}

// A tag or a binding to a manual arena is what the program says itself.
bool is_diverted() {
  const Heap* heap = heap_if_any();
  return heap != nullptr && heap->is_diverted;
}

void* allocate_any(const Request& request) {
  void* block = allocate_aligned(request.n, request.alignment, request.kind);
  if (block != nullptr && request.zeroed) memset(block, 0, request.n);
  return block;
}

}  // namespace

ACRE_COLD void* allocate_for_pointers(const Request& request) {
  if (t_heap == &kUninitializedHeap) registry::initialize_thread();
  if (request.n == 0 && request.alignment <= kQuantum) return allocate(0, request.kind);
  if (is_diverted() || is_ending()) return allocate_any(request);
  const SizeClass c = class_for(request.n, request.alignment);
  return c == kSmallClasses ? large_for_pointers(request) : small_for_pointers(c, request);
}

ACRE_COLD bool is_for_pointers(const Found& found) {
  const Arena* arena = arena_of(found);
  return arena != nullptr && arena->is_of_pointers;
}

}  // namespace acre::hardened
