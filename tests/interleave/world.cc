#include "world.h"

#include <new>

#include "engine.h"
#include "os/os.h"
#include "pages/huge_pages.h"
#include "slab/guard_pages.h"
#include "slab/labels.h"
#include "slab/order.h"
#include "slab/purge.h"
#include "slab/unit_table.h"

namespace interleave {

using namespace acre;

namespace {

constexpr size_t kBlockBytes = kPageBytes;  // so that pages without a live block are many
constexpr SizeClass kClass = class_of_size(kBlockBytes);
static_assert(size_of_class(kClass) == kBlockBytes);

struct World {
  alignas(kCacheLine) Slab header;
  alignas(kCacheLine) Run pages;
  alignas(kCacheLine) char blocks[kBlocks * kBlockBytes];
  alignas(kCacheLine) char arena[sizeof(Arena)];
  alignas(kCacheLine) char page_lock[sizeof(Mutex)];  // of the page heap
};
static_assert(sizeof(World) <= kWorldBytes);
World& world() { return *reinterpret_cast<World*>(g_world); }
Mutex& page_lock() { return *reinterpret_cast<Mutex*>(world().page_lock); }

// What the program has. Not part of the world: the search does not see it.
bool g_live[kBlocks];
bool g_pages_free;

void name_world() {
  name(&world().header, "header");
  name(&world().header.owner, "owner");
  name(&world().header.base, "base");
  name(&world().header.divide, "divide");
  name(&world().header.limit, "limit");
  name(&world().header.deferred, "deferred");
  name(&world().header.countdown, "countdown");
  name(&world().header.floor, "floor");
  name(&world().header.block_bytes, "block_bytes");
  name(&world().header.carved, "carved");
  name(&world().header.pages, "pages and later");
  name(&world().header.remote, "word");
  name(&world().header.last_owner, "last_owner");
  name(&world().header.binned_in, "binned_in");
  name(&world().header.run, "run");
  name(&world().header.node, "node");
  name(&world().pages, "page run");
  name(world().blocks, "blocks");
  name(world().arena, "arena");
  name(&bin(), "bin");
  name(&page_lock(), "page heap's lock");
}

Slab* make_run(Owner owner, unsigned capacity, unsigned enough) {
  Slab* slab = slab::make(&world().pages, kClass, owner);
  slab->capacity = static_cast<uint16_t>(capacity);
  slab->enough = static_cast<uint16_t>(enough);
  return slab;
}

}  // namespace

void begin(Owner owner, unsigned live, unsigned capacity, unsigned enough) {
  for (bool& each : g_live) each = false;
  g_pages_free = false;
  new (&world().header) Slab;
  new (&world().pages) Run;
  world().pages.base = address_of(world().blocks);
  world().pages.pages = capacity;
  world().pages.asked = ~size_t{0};  // what a large block has left there
  world().pages.home = &reinterpret_cast<Arena*>(world().arena)->pages;
  name_world();
  Slab* slab = make_run(owner, capacity, enough);
  if (live != 0) hand_out_list(slab::carve(slab, live, nullptr));
}

Slab* run() { return &world().header; }
Arena& arena() { return *reinterpret_cast<Arena*>(world().arena); }
Bin& bin() { return arena().bin(kClass); }
void* block(unsigned index) { return world().blocks + index * kBlockBytes; }
unsigned index_of(const void* block) {
  return static_cast<unsigned>((static_cast<const char*>(block) - world().blocks) / kBlockBytes);
}

void hand_out(void* block) {
  bool& live = g_live[index_of(block)];
  if (live) fail("block %u was handed out twice", index_of(block));
  if (g_pages_free) fail("block %u was handed out of a run whose pages are free", index_of(block));
  live = true;
}

void take_back(void* block) {
  bool& live = g_live[index_of(block)];
  if (!live) fail("the scenario frees block %u twice", index_of(block));
  live = false;
}

unsigned hand_out_list(Link* head) {
  unsigned count = 0;
  while (head != nullptr) {
    Link* link = head;
    head = link->next();
    clear_link(link);
    hand_out(link);
    ++count;
  }
  return count;
}

bool is_live(unsigned index) { return g_live[index]; }

unsigned live_blocks() {
  unsigned count = 0;
  for (const bool live : g_live) count += live;
  return count;
}

bool are_pages_free() { return g_pages_free; }

Slab* make_again(Owner owner, unsigned capacity, unsigned enough) {
  {
    Lock lock(page_lock());
    if (!g_pages_free) return nullptr;
    g_pages_free = false;
  }
  return make_run(owner, capacity, enough);
}

static bool free_or(bool (*own)(Slab*, Owner), unsigned index, Owner me) {
  Slab* slab = run();
  void* p = block(index);
  if (!is_block_start(slab, p)) fail("block %u is not known as a block", index);
  take_back(p);
  if (slab::is_uncut(slab, p)) fail("live block %u counts as free, on a page that was purged", index);
  if (relaxed_load(slab->owner) == me.token) {
    slab::defer(slab, p);
    return false;
  }
  if (own(slab, me)) {
    slab::defer(slab, p);
    return true;
  }
  slab::give_back(slab, p);
  return false;
}

bool free_block(unsigned index, Owner me) { return free_or(slab::adopt, index, me); }
bool free_orphan(unsigned index, Owner me) { return free_or(slab::inherit, index, me); }

// The remote list as it is.
static unsigned listed_blocks(const RemoteWord& word) { return walk_list(run(), head_block(run(), word)).count; }

void check_at_rest() {
  const Slab* slab = run();
  if (g_pages_free) {
    if (live_blocks() != 0) fail("the pages are free, and blocks live");
    if (bin().count() != 0 || slab->binned_in != nullptr) fail("the pages are free, and the run is in its bin");
    return;
  }
  const RemoteWord word = load_remote(slab);
  const unsigned deferred = walk_list(slab, slab->deferred).count;
  const unsigned listed = listed_blocks(word);
  const unsigned uncarved = slab->capacity - slab->carved;
  unsigned uncut = 0;
  for (unsigned i = 0; i < slab->carved; ++i) uncut += slab::is_uncut(slab, block(i));
  if (live_blocks() + deferred + listed + uncarved + uncut != slab->capacity) fail("a block is lost");
  if (word.state == RunState::kOwned && uncut != 0) fail("an owned run has purged pages");
  const bool in_bin = slab->binned_in == &bin();
  if (in_bin != is_binned(word.state)) fail("the word says binned: %d, and the bin: %d", is_binned(word.state), in_bin);
  if (bin().count() != in_bin) fail("the bin counts %u runs", bin().count());
  if (word.state == RunState::kOwned) {
    if (word.free != listed || word.local != 0) fail("an owned run's word has %u free, listed are %u", word.free, listed);
    if (slab->owner == kNoThread) fail("an owned run names no owner");
    if (slab::used(slab) != slab->carved - deferred) fail("used is %u, deferred are %u", slab::used(slab), deferred);
    return;
  }
  if (slab->owner != kNoThread) fail("nobody owns the run, but it names an owner");
  const unsigned hidden = is_shared(word.state) ? deferred : 0;
  if (is_shared(word.state) && deferred == 0) fail("a shared run has no hostage");
  if (word.free != slab->capacity - live_blocks() - hidden) fail("the word has %u free", word.free);
  if (word.free - word.local != listed) fail("the word has %u listed, there are %u", word.free - word.local, listed);
  if (is_binned(word.state) != (word.free >= slab->enough)) fail("binned: %d with %u free", in_bin, word.free);
  if (word.free == slab->capacity) fail("all blocks are free, and the pages were not returned");
}

}  // namespace interleave

// --- What lies below the folder ------------------------------------------------------------------------------

namespace acre {

void fatal(const char* message, const void*) { interleave::fail("the program was ended: %s", message); }

void PageHeap::free(Run*, bool) {
  using namespace interleave;
  Lock lock(page_lock());
  if (g_pages_free) fail("the pages were returned twice");
  if (live_blocks() != 0) fail("the pages were returned while a block lives");
  if (relaxed_load(run()->binned_in) != nullptr) fail("the pages were returned while the run is in its bin");
  g_pages_free = true;
}

// The hardened mode is off.
uint16_t guard_pages::begin(Run*, const RunShape& shape) { return shape.capacity; }
bool guard_pages::lift(Run*) { return true; }
Link* slab::cut_by_chance(Slab*, uint32_t, Link*) { interleave::fail("the order is by address"); }

// Wipes the links.
bool os::purge(void* start, size_t bytes) {
  using namespace interleave;
  for (char* page = static_cast<char*>(start); page != static_cast<char*>(start) + bytes; page += kPageBytes) {
    const unsigned index = interleave::index_of(page);
    if (is_live(index)) fail("the page of live block %u was given back", index);
    *link_of(page) = {};
  }
  return true;
}

void huge_pages::forget(Range) {}

void PageHeap::make_slab(Run* run, Slab* slab) {
  run->kind = RunKind::kSlab;
  run->slab = slab;
}

// For manual arenas alone.
void Arena::add_bin(SizeClass) {}

namespace unit_table {
Slab* header_for(const Run*) { return interleave::run(); }
void drop_header(Slab*) {}
}  // namespace unit_table

namespace labels {
bool attach(Run*, SizeClass) { return true; }
void detach(Run*, SizeClass) {}
}  // namespace labels

// Waits until the lock was left, and tries again. All threads of a scenario are one thread of the system, so whoever
// holds the lock, the state is the same.
void Mutex::lock_slow() {
  for (uint64_t expected = kFree;; expected = kFree) {
    interleave::wait_while(&state_, sizeof state_, this_thread());
    if (state_.compare_exchange_strong(expected, this_thread(), std::memory_order_acquire)) return;
  }
}
void Mutex::unlock_while_forking() {}
void Mutex::wake_one() const {}

}  // namespace acre
