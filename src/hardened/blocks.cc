// Questions about blocks in the hardened mode, and realloc in place.
#include <string.h>

#include "cache/misuse.h"
#include "hardened/checks.h"
#include "hardened/zero_size.h"

namespace acre::hardened {

bool is_protected(const Found& found) {
  return found.slab != nullptr ? !is_manual(found.slab) : found.run != nullptr && is_sampled(found);
}

// A large block that is in no manual arena.
static bool is_large(const Found& found) {
  return found.run != nullptr && !is_sampled(found) && !is_manual(found);
}

size_t size_of(const Found& found, const void* p, const char* caller) {
  const size_t bytes = acre::block_bytes(found);
  if (is_protected(found)) return size_in(checked_tail(p, bytes, caller), bytes);
  if (!is_large(found)) return bytes;
  if (found.run->slack_filled) check_slack(found.run, caller);
  return found.run->asked;
}

// Whether mallocx, asked for n bytes, asks for so many.
static bool is_rounded_to(size_t n, size_t alignment, size_t asked) {
  const SizeClass c = class_for_aligned(n, alignment);
  return c != kSmallClasses ? size_of_class(c) == asked : pages_for(n) == pages_for(asked);
}

static bool is_size(Kind kind, size_t asked, size_t n, size_t alignment) {
  return n == asked || (kind == Kind::kRounded && is_rounded_to(n, alignment, asked));
}

bool is_size_of(const Found& found, const void* p, size_t n, size_t alignment, const char* caller) {
  if (!is_power_of_two(alignment) || address_of(p) % alignment != 0) return false;
  if (!is_protected(found)) {
    return found.run == nullptr || is_size(found.run->made_by, found.run->asked, n, alignment);
  }
  const size_t bytes = acre::block_bytes(found);
  const Tail tail = checked_tail(p, bytes, caller);
  return is_size(tail.kind, size_in(tail, bytes), n, alignment);
}

void set_kind(void* p, Kind kind) {
  const Found found = find_block(p);
  if (is_protected(found)) {
    const size_t bytes = acre::block_bytes(found);
    write_tail(p, bytes, size_in(read_tail(p, bytes), bytes), kind);
  } else if (found.run != nullptr) {
    found.run->made_by = kind;
  }
}

void check_may_free(const Found& found, const void* p, const char* caller, Kind freed) {
  if (is_protected(found)) {
    check_kind(caller, p, checked_tail(p, acre::block_bytes(found), caller).kind, freed);
  } else {
    check_may_free_large(found, p, caller, freed);
  }
}

void check_may_free_large(const Found& found, const void* p, const char* caller, Kind freed) {
  const Run* run = found.run;
  if (run == nullptr || run->base != address_of(p)) return;
  if (run->kind != RunKind::kLarge && run->kind != RunKind::kHuge) return;
  check_kind(caller, p, run->made_by, freed);
  if (run->slack_filled) check_slack(run, caller);
}

void* reallocate_in_place(const Found& found, void* p, size_t n) {
  const size_t bytes = acre::block_bytes(found);
  const Tail tail = checked_tail(p, bytes, "realloc");
  check_kind("realloc", p, tail.kind, Kind::kMalloc);
  const size_t old_n = size_in(tail, bytes);
  if (n == old_n) return p;
  if (n > kSmallMax - kTailBytes || class_of_size(n + kTailBytes) != class_of_size(bytes)) return nullptr;
  if (n < old_n) memset(static_cast<char*>(p) + n, 0, old_n - n);
  write_tail(p, bytes, n, tail.kind);
  return p;
}

bool is_nothing(const void* p) { return zero_size::contains(p); }
bool is_live_nothing(const void* p) { return zero_size::is_live(p); }

void check_nothing(const void* p, const char* caller) {
  if (!zero_size::is_live(p)) misuse::double_free(caller, p, 0);
}

}  // namespace acre::hardened
