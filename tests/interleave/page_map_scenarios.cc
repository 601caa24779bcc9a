// Scenarios of the page map (src/pages/page_map.h): entries are made, set and read at the same time.
#include <new>

#include "os/os.h"
#include "pages/page_map.h"
#include "scenarios.h"

namespace interleave {

using namespace acre;

namespace {

// A map and a leaf are longer than the world. Each has its start in the world, and the scenarios use no more of it.
constexpr size_t kSeenOfMap = 1024, kSeenOfLeaf = 128;

struct World {
  Run runs[2];
  alignas(kCacheLine) char map[kSeenOfMap];
  alignas(kCacheLine) char leaves[2][kSeenOfLeaf];
};
// Its last byte is the last of the world, so that the rest of the second leaf is not seen.
static_assert(sizeof(World) % kCacheLine == 0);
World& world() { return *reinterpret_cast<World*>(g_world + kWorldBytes - sizeof(World)); }
static_assert(sizeof(PageMap) <= kUnseenBytes && (size_t{1} << 30 >> kPageShift) * sizeof(Run*) <= kUnseenBytes / 2);

unsigned g_leaves_made;
const char* g_unmapped;  // null: no leaf was
constexpr char kUnmapped = 0x40;

PageMap& map() { return *reinterpret_cast<PageMap*>(world().map); }
void* page_of(unsigned index) { return pointer_to((index + 1) * kPageBytes); }

void set_up() {
  g_leaves_made = 0;
  g_unmapped = nullptr;
  for (Run& run : world().runs) new (&run) Run;
  name(world().runs, "runs");
  name(world().map, "map");
  name(world().leaves[0], "leaf 0");
  name(world().leaves[1], "leaf 1");
}

// A run of one page comes into being.
void make_run(unsigned index) {
  Run& run = world().runs[index];
  if (!map().prepare(address_of(page_of(index)), kPageBytes)) fail("memory was refused");
  run.base = address_of(page_of(index));
  run.pages = 1;
  index == 0 ? map().set_ends(&run, &run) : map().set_all(&run, &run);
}

// What is found is the run as its maker has left it.
unsigned look_up(unsigned index) {
  const Run* found = map().find(page_of(index));
  if (found == nullptr) return 0;
  if (found != &world().runs[index] || found->base != address_of(page_of(index))) fail("another run was found");
  return 1;
}

// Nobody has written to a leaf that was unmapped.
void check_unmapped() {
  for (size_t i = 0; g_unmapped != nullptr && i < kSeenOfLeaf; ++i) {
    if (g_unmapped[i] != kUnmapped) fail("byte %zu of the unmapped leaf was written", i);
  }
}

void visit_runs() {
  map().for_each_run([](const Run* run) {
    if (run->pages != 1 || run != map().find(pointer_to(run->base))) fail("no run that was made");
  });
}

}  // namespace

std::vector<Case> page_map_cases() {
  return {
      {{"leaf-beside-leaf", "two threads make runs in a range of addresses without a leaf; a third looks them up", 3, set_up,
        [](unsigned thread) { thread < 2 ? make_run(thread) : static_cast<void>(look_up(0) + look_up(1)); },
        [] {
          if (look_up(0) + look_up(1) != 2) fail("a run has lost its entry");
          check_unmapped();
        }}},
      {{"visit-beside-new-leaf", "a thread makes a leaf and a run; another visits all runs", 2,
        [] {
          set_up();
          ++g_leaves_made;  // of the second leaf the world sees the first entries alone: a visit reads five hundred
        },
        [](unsigned thread) { thread == 0 ? make_run(0) : visit_runs(); },
        [] {
          if (look_up(0) != 1) fail("the run has lost its entry");
        }}},
  };
}

}  // namespace interleave

// --- The system ---------------------------------------------------------------------------------------------------

namespace acre {

using namespace interleave;

size_t os::page_bytes() { return kPageBytes; }

void* os::reserve(size_t) {
  if (g_leaves_made == 2) fail("a third leaf was made");
  return world().leaves[g_leaves_made++] - os::page_bytes();
}

// The system zeroes memory before the thread has it.
bool os::commit(void* start, size_t) {
  for (size_t i = 0; i < kSeenOfLeaf; ++i) static_cast<char*>(start)[i] = 0;
  return true;
}

// Whoever still uses the memory races with this, or is found by check_unmapped().
bool os::unmap(void* start, size_t) {
  char* const leaf = static_cast<char*>(start) + os::page_bytes();
  for (size_t i = 0; i < kSeenOfLeaf; ++i) leaf[i] = kUnmapped;
  g_unmapped = leaf;
  return true;
}

}  // namespace acre
