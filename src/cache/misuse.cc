#include "cache/misuse.h"

#include "base/text.h"
#include "cache/lookup.h"
#include "cache/registry.h"
#include "cache/sampled_run.h"
#include "cache/upcalls.h"
#include "os/module.h"
#include "os/unwind.h"
#include "pages/page_map.h"
#include "slab/purge.h"

namespace acre {

namespace {

// Other threads may change the list meanwhile, so each link is checked before the walk goes on.
bool list_holds(const Slab* slab, const Link* head, const void* block) {
  const Link* link = head;
  for (uint32_t i = 0; i < slab->capacity && link != nullptr; ++i, link = racy_next(link)) {
    if (link == block) return true;
    if (!is_block_start(slab, link) || !seems_marked(link)) return false;
  }
  return false;
}

}  // namespace

bool Outbox::holds(const Slab* slab, const void* block) const {
  if (is_shared_class(slab->size_class)) return false;
  for (uint32_t i = 0, count = smaller(racy_load(unsorted_count_), kMostUnsorted); i < count; ++i) {
    if (racy_load(unsorted_[i].block) == block) return true;
  }
  const Group& group = groups_[slab->size_class];
  return racy_load(group.slab) == slab && list_holds(slab, racy_load(group.head), block);
}

namespace misuse {

namespace {

constexpr size_t kNear = 16;  // bytes before a block, about which a message tells

struct Search {
  const Slab* slab;
  const void* block;
  bool found;
};

// Like list_holds, for a list that may have blocks of several runs.
bool private_list_holds(const Heap& heap, SizeClass c, const void* block) {
  const RunShape& shape = run_shape(c);
  const Link* link = racy_load(heap.slots[c].head);
  for (uint32_t i = 0; i < uint32_t{shape.capacity} + shape.most_listed && link != nullptr; ++i, link = racy_next(link)) {
    if (link == block) return true;
    const Slab* slab = find_block(link).slab;
    if (slab == nullptr || racy_load(slab->size_class) != c || !seems_marked(link)) return false;
  }
  return false;
}

void search_heap(Heap& heap, void* argument) {
  auto& search = *static_cast<Search*>(argument);
  SizeClass c = search.slab->size_class;
  search.found |= private_list_holds(heap, c, search.block) || heap.outbox().holds(search.slab, search.block) ||
                  (hardened::is_on() && hardened::holds(heap, search.block));
}

Text& begin(Text& text, const char* caller, const void* p) {
  return text.add(caller).add('(').hex(address_of(p)).add("): ");
}

// Names the file that passed a foreign pointer: a library that has a malloc of its own, or a bug.
void add_origin(Text& text, Address from) {
  os::Module module;
  if (from == 0 || os::is_own_code(from) || !os::find_module(from, &module)) return;
  text.add("; freed by ").add(*module.path == '\0' ? "the program" : module.path).add('+').hex(from - module.base);
  text.add(" (if the program works without acre, that file mixes two mallocs: run it without)");
}

}  // namespace

bool is_foreign(const void* p) {
  const Run* run = g_page_map.find_covering(p);
  guard::Where guarded;
  return (run == nullptr || run->kind == RunKind::kNone) && !guard::find(p, &guarded);
}

bool is_free(Slab* slab, const void* block) {
  if (slab::is_uncut(slab, block)) return true;
  if (!seems_free(slab, block)) return false;
  if (list_holds(slab, racy_load(slab->deferred), block)) return true;
  if (list_holds(slab, head_block(slab, load_remote(slab)), block)) return true;
  Search search{slab, block, false};
  if (is_manual(slab)) {
    manual::for_each_heap_of(slab, search_heap, &search);
  } else {
    registry::for_each(search_heap, &search);
  }
  return search.found;
}

void check_live(const char* caller, Slab* slab, const void* p) {
  if (is_free(slab, p)) double_free(caller, p, slab->block_bytes);
}

void double_free(const char* caller, const void* p, size_t bytes) {
  Line<200> text;
  begin(text, caller, p).add("double free: the block of ").decimal(bytes).add(" bytes is free already");
  fatal(text.c_str(), p);
}

void wrong_size(const char* caller, const void* p, size_t n, size_t alignment, size_t least, size_t most) {
  Line<280> text;
  begin(text, caller, p).add("wrong size: freed as ").decimal(n).add(" bytes");
  if (alignment > 1) text.add(" at a multiple of ").decimal(alignment);
  text.add(", but allocated as ").decimal(least);
  if (most != least) text.add(" to ").decimal(most);
  text.add(" (ACRE_CONF=size_checks:false lets it pass)");
  fatal(text.c_str(), p);
}

void wrong_alignment(const char* caller, const void* p, size_t alignment) {
  Line<280> text;
  begin(text, caller, p).add("wrong alignment: freed as a block at a multiple of ").decimal(alignment);
  text.add(" (ACRE_CONF=size_checks:false lets it pass)");
  fatal(text.c_str(), p);
}

// Where p lies in a run of blocks of one size.
struct InRun {
  Address block;  // the block in which p lies
  size_t bytes;
  bool is_free;
  bool has_next;  // another block begins behind it
};

static void add_place(Text& text, const void* p, const InRun& at) {
  const size_t offset = address_of(p) - at.block;
  text.add("interior pointer: it is ").decimal(offset).add(" bytes into a ").add(at.is_free ? "free block of " : "block of ");
  text.decimal(at.bytes).add(" bytes at ").hex(at.block);
  const size_t before = at.bytes - offset;
  if (at.has_next && before <= kNear) text.add(", ").decimal(before).add(" bytes before the next");
}

static void add_place(Text& text, const void* p, Slab* slab) {
  const uint32_t index = block_index(slab, address_of(p));
  if (index >= slab->carved) {
    text.add("not a live block: nothing is allocated here");
    return;
  }
  const Address block = slab->base + size_t{index} * slab->block_bytes;
  add_place(text, p, InRun{block, slab->block_bytes, is_free(slab, pointer_to(block)), index + 1 < slab->carved});
}

static void add_place(Text& text, const void* p, const Run* run) {
  const SampledRun* sampled = run->sampled;
  const size_t offset = (address_of(p) - run->base) % sampled->block_bytes;
  const Address block = address_of(p) - offset;
  const bool is_live = sampled_runs::is_live(sampled, pointer_to(block));
  add_place(text, p, InRun{block, sampled->block_bytes, !is_live, block + 2 * sampled->block_bytes <= run->end()});
}

// Where p lies between or in guard pages.
static void add_place(Text& text, const void* p, const guard::Where& at) {
  const size_t offset = address_of(p) - at.block;
  if (offset < at.bytes) return add_place(text, p, InRun{at.block, at.bytes, at.is_free, false});
  const bool is_before = address_of(p) < at.block;
  text.add("not a block: it is ").decimal(is_before ? at.block - address_of(p) : offset - at.bytes);
  text.add(is_before ? " bytes before a " : " bytes behind a ").add(at.is_free ? "free " : "").add("block of ");
  text.decimal(at.bytes).add(" bytes at ").hex(at.block);
}

void not_a_block(const char* caller, const void* p, const void* from) {
  Line<480> text;
  begin(text, caller, p);
  guard::Where guarded;
  if (guard::find(p, &guarded)) {
    add_place(text, p, guarded);
    fatal(text.c_str(), p);
  }
  Run* run = g_page_map.find_covering(p);
  switch (run == nullptr ? RunKind::kNone : run->kind) {
    case RunKind::kSlab: add_place(text, p, run->slab); break;
    case RunKind::kSampled: add_place(text, p, run); break;
    case RunKind::kLarge:
    case RunKind::kHuge:
      text.add("interior pointer: it is ").decimal(address_of(p) - run->base).add(" bytes into a block of ");
      text.decimal(run->bytes()).add(" bytes at ").hex(run->base);
      break;
    case RunKind::kGuard:
    case RunKind::kFree:
      text.add("not a live block: its pages are free (was it freed before?)");
      break;
    case RunKind::kNone:
      text.add("foreign pointer: acre has not allocated it (or has returned its pages since)");
      add_origin(text, address_of(from));
      break;
  }
  fatal(text.c_str(), p);
}

}  // namespace misuse
}  // namespace acre
