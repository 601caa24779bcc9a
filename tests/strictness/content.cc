// Blocks of no bytes, code in blocks, and what a new block shows of the one before.
#include "kinds.h"

namespace {

using Get = void* (*)(size_t size);

void* by_malloc(size_t size) { return malloc(size); }
void* by_calloc(size_t size) { return calloc(1, size); }
void* by_new(size_t size) { return operator new(size); }
void* by_new_array(size_t size) { return operator new[](size); }
void* by_aligned_alloc(size_t size) { return aligned_alloc(64, (size + 63) / 64 * 64); }
void* by_realloc(size_t size) { return realloc(malloc(1), size); }

template <Get kGet, bool kWrites>
Outcome touch_nothing(const Case& given) {
  Neighbours neighbours(given);
  volatile Byte* block = static_cast<Byte*>(hidden(kGet(0)));
  begin();
  if (block == nullptr) return kNoEffect;
  if (kWrites) {
    *block = kDamage;
  } else {
    static_cast<void>(*block);
  }
  done();
  free(const_cast<Byte*>(block));
  if (kWrites) neighbours.release();
  return kPasses;
}

// A function that returns at once, in a block.
Outcome execute(const Case& given) {
#if defined(__x86_64__)
  constexpr Byte kCode[] = {0xc3};
#elif defined(__aarch64__)
  constexpr Byte kCode[] = {0xc0, 0x03, 0x5f, 0xd6};
#elif defined(__riscv)
  constexpr Byte kCode[] = {0x67, 0x80, 0x00, 0x00};
#endif
  Neighbours neighbours(given);
  memcpy(neighbours.victim, kCode, sizeof kCode);
  __builtin___clear_cache(reinterpret_cast<char*>(neighbours.victim), reinterpret_cast<char*>(neighbours.victim + 8));
  begin();
  reinterpret_cast<void (*)()>(neighbours.victim)();
  done();
  return kPasses;
}

constexpr size_t kBlocks = 256;
Byte* g_blocks[kBlocks];

size_t count_of(size_t size) { return size > 64 * kKib ? 12 : kBlocks; }

// Writes a secret into blocks, frees each second one, allocates as many: does one have the secret?
template <Get kGet>
Outcome read_before_write(const Case& given) {
  constexpr char kSecret[] = "a secret";
  const size_t count = count_of(given.size), at = given.size / 2;
  for (size_t i = 0; i < count; ++i) {
    g_blocks[i] = take(given.size);
    memcpy(g_blocks[i] + at, kSecret, given.size - at < sizeof kSecret ? given.size - at : sizeof kSecret);
  }
  for (size_t i = 0; i < count; i += 2) free(g_blocks[i]);
  begin();
  bool seen = false;
  for (size_t i = 0; i < count; i += 2) {
    const Byte* block = static_cast<Byte*>(hidden(kGet(given.size)));
    seen |= memcmp(block + at, kSecret, given.size - at < 8 ? given.size - at : 8) == 0;
  }
  done();
  return seen ? kPasses : kNoEffect;
}

// Takes many blocks and frees them. Returns how many; g_blocks has their addresses.
size_t free_many(const Case& given) {
  const size_t count = count_of(given.size);
  for (size_t i = 0; i < count; ++i) g_blocks[i] = take(given.size);
  for (size_t i = 0; i < count; ++i) free(g_blocks[i]);
  return count;
}

// Are the first words of new blocks addresses? Low halves are enough, but not on a page that nobody has written.
template <Get kGet>
Outcome read_links(const Case& given) {
  const size_t count = free_many(given);
  begin();
  bool seen = false;
  for (size_t i = 0; i < count; ++i) {
    uint32_t halves[2];
    memcpy(halves, hidden(kGet(given.size)), given.size < sizeof halves ? given.size : sizeof halves);
    for (size_t k = 0; k < count; ++k) {
      const auto low = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(g_blocks[k]));
      seen |= halves[0] == low || halves[1] == low;
    }
  }
  done();
  return seen ? kPasses : kNoEffect;
}

// A half of the first word that is neither what the program left nor zero is the allocator's.
Outcome read_words(const Case& given) {
  const size_t count = free_many(given);
  begin();
  bool seen = false;
  for (size_t i = 0; i < count; ++i) {
    const Byte* block = static_cast<Byte*>(hidden(malloc(given.size)));
    for (size_t half : {0, 4}) seen |= !is_filled(block + half, 4, kContent) && !is_filled(block + half, 4, 0);
  }
  done();
  return seen ? kPasses : kNoEffect;
}

const Registration registration([] {
  constexpr const char* nothing = "zero_size";
  const int flags = kGuard;
  add("zero_malloc_read", nothing, "reads what malloc(0) returned", touch_nothing<by_malloc, false>, flags, 8);
  add("zero_malloc_write", nothing, "writes there", touch_nothing<by_malloc, true>, flags, 8);
  add("zero_calloc_read", nothing, "reads what calloc(1, 0) returned", touch_nothing<by_calloc, false>, flags, 8);
  add("zero_calloc_write", nothing, "writes there", touch_nothing<by_calloc, true>, flags, 8);
  add("zero_new_read", nothing, "reads an object of new of 0 bytes", touch_nothing<by_new, false>, flags, 8);
  add("zero_new_write", nothing, "writes there", touch_nothing<by_new, true>, flags, 8);
  add("zero_new_array_read", nothing, "reads an array of 0 bytes", touch_nothing<by_new_array, false>, flags, 8);
  add("zero_new_array_write", nothing, "writes there", touch_nothing<by_new_array, true>, flags, 8);
  add("zero_realloc_read", nothing, "reads what realloc(p, 0) returned", touch_nothing<by_realloc, false>, flags, 8);
  add("zero_realloc_write", nothing, "writes there", touch_nothing<by_realloc, true>, flags, 8);
  for (size_t size : kSizes) {
    add("execute_%s", "execute", "runs code in a block of %s", execute, kPlaces | kGuard, size);
  }
  constexpr const char* before = "uninitialized";
  for (size_t size : kSizes) {
    add("uninitialized_malloc_%s", before, "malloc(%s) shows what a block before had", read_before_write<by_malloc>,
        kPlain, size);
    add("uninitialized_new_%s", before, "new of %s shows it", read_before_write<by_new>, kPlain, size);
    add("uninitialized_realloc_%s", before, "realloc to %s shows it", read_before_write<by_realloc>, kPlain, size);
  }
  for (size_t size : kRoomySizes) {
    add("uninitialized_aligned_%s", before, "aligned_alloc of %s shows it", read_before_write<by_aligned_alloc>, kPlain,
        size);
  }
  for (size_t size : {size_t{8}, size_t{64}, 4 * kKib}) {
    add("uninitialized_address_%s", before, "malloc(%s) shows the address of a block", read_links<by_malloc>, kPlain,
        size);
    add("uninitialized_word_%s", before, "malloc(%s) shows a word of the allocator's", read_words, kPlain, size);
  }
});

}  // namespace
