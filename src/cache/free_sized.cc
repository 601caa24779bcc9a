// Frees for which the program gives the size: the size is checked.
#include "cache/free.h"
#include "cache/lookup.h"
#include "cache/misuse.h"
#include "cache/upcalls.h"
#include "tables/options.h"

namespace acre {

namespace {

// How many sizes the block serves. A huge block may have been resized in place within what it has.
ACRE_APART size_t spread_of(const Found& found) {
  if (found.slab != nullptr || is_sampled(found)) return spread_of_class(class_of_size(block_bytes(found)));
  return found.run->kind == RunKind::kHuge ? kHugePageBytes : kPageBytes;
}

bool is_size_of(const Found& found, size_t n, size_t alignment) {
  const size_t bytes = block_bytes(found);
  const SizeClass c = class_for_aligned(n, alignment);
  if (found.slab != nullptr || is_sampled(found)) return c == class_of_size(bytes);
  // A sampled block of a manual arena has the whole pages of its class.
  if (c != kSmallClasses && pages_for(size_of_class(c)) * kPageBytes == bytes) return true;
  return n <= bytes && bytes - larger<size_t>(n, 1) < spread_of(found);
}

ACRE_COLD void check_size_exactly(const Found& found, const void* p, size_t n, size_t alignment, const char* name) {
  if (found.slab != nullptr && is_marked(p)) return;  // the free that follows says that it is free already
  if (hardened::is_size_of(found, p, n, alignment, name)) return;
  const size_t asked = hardened::size_of(found, p, name);
  misuse::wrong_size(name, p, n, alignment, asked, asked);
}

}  // namespace

ACRE_APART void check_size(const void* p, size_t n, size_t alignment, const char* name) {
  if (!relaxed_load(options().size_checks)) return;
  const Found found = find_block(p);
  if (found.slab == nullptr && found.run == nullptr) return;
  // Of blocks of manual arenas only the rounded size is known.
  if (hardened::is_on() && !is_manual(found)) return check_size_exactly(found, p, n, alignment, name);
  if (is_power_of_two(alignment) && is_size_of(found, n, alignment)) return;
  const size_t most = block_bytes(found);
  misuse::wrong_size(name, p, n, alignment, larger<size_t>(most + 1 - spread_of(found), 1), most);
}

ACRE_APART void release_slow_sized(void* p, size_t n, size_t alignment, const char* name) {
  check_size(p, n, alignment, name);
  note_sized(p);
  release_slow(p, name);
}

}  // namespace acre
