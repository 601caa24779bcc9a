#include "cache/sampled_run.h"

#include <string.h>

#include <new>

#include "base/atomics.h"
#include "base/bits.h"
#include "base/mutex.h"
#include "cache/upcalls.h"
#include "pages/metadata.h"
#include "pages/page_map.h"

namespace acre::sampled_runs {

constinit std::atomic<bool> g_are_sizes_told{false};

namespace {

constexpr uint32_t kWordBits = 64;

constinit Mutex g_lock{Rank::kSampled};

constinit SampledRun* g_open[kSmallClasses] ACRE_GUARDED_BY(g_lock) = {};   // runs with free blocks
constinit SampledRun* g_spare[kSmallClasses] ACRE_GUARDED_BY(g_lock) = {};  // headers without pages

uint32_t words_for(uint32_t capacity) { return (capacity + kWordBits - 1) / kWordBits; }

// --- Lists and blocks ------------------------------------------------------------------------------------------

void open(SampledRun* run) ACRE_REQUIRES(g_lock) {
  SampledRun*& first = g_open[run->size_class];
  run->prev = nullptr;
  run->next = first;
  if (first != nullptr) first->prev = run;
  first = run;
}

void close(SampledRun* run) ACRE_REQUIRES(g_lock) {
  (run->prev == nullptr ? g_open[run->size_class] : run->prev->next) = run->next;
  if (run->next != nullptr) run->next->prev = run->prev;
}

// The index of the block that begins at p; capacity if none does.
uint32_t block_at(const SampledRun* run, const void* p) {
  const Address base = relaxed_load(run->base);
  const size_t offset = address_of(p) - base;
  if (base == 0 || offset >= size_t{run->capacity} * run->block_bytes) return run->capacity;
  const auto near = static_cast<uint32_t>(offset);  // quicker to divide
  return near % run->block_bytes == 0 ? near / run->block_bytes : run->capacity;
}

// The bits change under the lock. A thread that has a live block may read the block's bit without the lock.
bool is_free(const SampledRun* run, uint32_t index) {
  return (relaxed_load(run->free_bits[index / kWordBits]) >> index % kWordBits & 1) != 0;
}

void* take_block(SampledRun* run) ACRE_REQUIRES(g_lock) {
  uint32_t word = 0;
  while (run->free_bits[word] == 0) ++word;
  const uint32_t index = word * kWordBits + lowest_bit(run->free_bits[word]);
  relaxed_store(run->free_bits[word], run->free_bits[word] & (run->free_bits[word] - 1));
  relaxed_store(run->tickets[index], kNoTicket);
  if (--run->free == 0) close(run);
  return pointer_to(run->base + size_t{index} * run->block_bytes);
}

// --- Making runs, without a lock ------------------------------------------------------------------------------

SampledRun* take_header(SizeClass c) {
  {
    Lock lock(g_lock);
    if (SampledRun* run = g_spare[c]) {
      g_spare[c] = run->next;
      return run;
    }
  }
  const RunShape& shape = run_shape(c);
  const size_t words = words_for(shape.capacity);
  void* memory = metadata::allocate(sizeof(SampledRun) + words * sizeof(uint64_t) + shape.capacity * sizeof(Ticket));
  if (memory == nullptr) return nullptr;
  SampledRun* run = new (memory) SampledRun;
  run->block_bytes = shape.block_bytes;
  run->capacity = shape.capacity;
  run->size_class = static_cast<uint8_t>(c);
  run->free_bits = reinterpret_cast<uint64_t*>(run + 1);
  run->tickets = reinterpret_cast<Ticket*>(run->free_bits + words);
  return run;
}

void drop_header(SampledRun* run) {
  Lock lock(g_lock);
  run->next = g_spare[run->size_class];
  g_spare[run->size_class] = run;
}

Run* find_pages(Arena& arena, bool strict, size_t pages) {
  if (Run* run = arena.pages.allocate_free(pages, kRunUnitPages, true)) return run;
  if (Run* run = arena.pages.allocate(pages, kRunUnitPages)) return run;
  for (unsigned i = 0; !strict && i < arenas::count(); ++i) {
    if (Run* run = arenas::at(i)->pages.allocate_free(pages, kRunUnitPages, false)) return run;
  }
  return nullptr;
}

// Makes a run whose blocks are all free and which is in no list.
SampledRun* make(Arena& arena, bool strict, SizeClass c) {
  SampledRun* made = take_header(c);
  if (made == nullptr) return nullptr;
  Run* run = find_pages(arena, strict, run_shape(c).pages);
  if (run == nullptr) {
    drop_header(made);
    return nullptr;
  }
  if (hardened::is_on() && !run->fresh) memset(pointer_to(run->base), 0, run->bytes());
  for (uint32_t i = 0; i < made->capacity; i += kWordBits) {
    const uint32_t rest = made->capacity - i;
    relaxed_store(made->free_bits[i / kWordBits], rest >= kWordBits ? ~uint64_t{0} : (uint64_t{1} << rest) - 1);
  }
  made->free = made->capacity;
  made->run = run;
  relaxed_store(made->base, run->base);
  run->home->make_sampled(run, made);
  return made;
}

SampledRun* run_of(const void* block) { return g_page_map.find(block)->sampled; }

}  // namespace

void* allocate(Arena& arena, bool strict, SizeClass c) {
  {
    Lock lock(g_lock);
    SampledRun* run = g_open[c];
    while (strict && run != nullptr && run->run->home != &arena.pages) run = run->next;
    if (run != nullptr) return take_block(run);
  }
  SampledRun* made = make(arena, strict, c);
  if (made == nullptr) return nullptr;
  Lock lock(g_lock);
  open(made);
  return take_block(made);
}

void set_ticket(const void* block, Ticket ticket) {
  SampledRun* run = run_of(block);
  relaxed_store(run->tickets[block_at(run, block)], ticket);
}

Ticket ticket_of(const SampledRun* run, const void* block) {
  const uint32_t index = block_at(run, block);
  return index == run->capacity || is_free(run, index) ? kDead : relaxed_load(run->tickets[index]);
}

bool is_block_start(const SampledRun* run, const void* p) { return block_at(run, p) != run->capacity; }

bool is_live(const SampledRun* run, const void* p) { return ticket_of(run, p) != kDead; }

// An empty run's pages go back, unless the run is the only one of its class with free blocks.
void free(SampledRun* run, void* block) {
  {
    Lock lock(g_lock);
    const uint32_t index = block_at(run, block);
    uint64_t& bits = run->free_bits[index / kWordBits];
    relaxed_store(bits, bits | uint64_t{1} << index % kWordBits);
    if (run->free++ == 0) open(run);
    if (run->free != run->capacity || (run->next == nullptr && run->prev == nullptr)) return;
    close(run);
    relaxed_store(run->base, Address{0});
  }
  run->run->home->free(run->run, true);
  drop_header(run);
}

void at_fork(ForkStage stage) { g_lock.at_fork(stage); }

}  // namespace acre::sampled_runs
