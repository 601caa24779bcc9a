// Blocks that are used after they were freed, and how soon their memory is another block's.
#include "kinds.h"

namespace {

constexpr size_t kMostTaken = 4096;
Byte* g_taken[kMostTaken];

size_t most_taken(size_t size) { return size > 64 * kKib ? 256 : kMostTaken; }

// Allocates until the memory at a place is handed out again. -> whether it was.
bool take_until_reused(size_t size, const Byte* place) {
  for (size_t i = 0, most = most_taken(size); i < most; ++i) {
    g_taken[i] = take(size);
    if (g_taken[i] == place) return true;
  }
  return false;
}

struct Part {
  const char* name;
  size_t (*offset)(size_t size);
};

const Part kParts[] = {
    {"first_word", [](size_t) { return size_t{0}; }},
    {"second_word", [](size_t) { return size_t{8}; }},
    {"middle", [](size_t size) { return size / 2; }},
    {"last_word", [](size_t size) { return size - 8; }},
};

// given.distance: which part.
Outcome write_part(const Case& given) {
  Neighbours neighbours(given);
  Byte* at = neighbours.victim + kParts[given.distance].offset(neighbours.size);
  free(neighbours.victim);
  begin();
  memset(at, kDamage, 8);
  done();
  return passes_after_release(neighbours);
}

Outcome write_one_byte(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  neighbours.victim[neighbours.size / 2] ^= 1;
  done();
  return passes_after_release(neighbours);
}

template <void (*kFree)(void*)>
Outcome write_all(const Case& given) {
  Neighbours neighbours(given);
  kFree(neighbours.victim);
  begin();
  memset(neighbours.victim, kDamage, neighbours.size);
  done();
  return passes_after_release(neighbours);
}

Outcome write_zeroes(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  const bool is_zero = is_filled(neighbours.victim, neighbours.size, 0);
  memset(neighbours.victim, 0, neighbours.size);
  done();
  passes_after_release(neighbours);
  return is_zero ? kNoEffect : kPasses;
}

Outcome write_after_reuse(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  const bool reused = take_until_reused(neighbours.size, neighbours.victim);
  begin();
  neighbours.victim[neighbours.size / 2] = kDamage;
  done();
  if (reused) return kPasses;
  passes_after_release(neighbours);
  return kNoEffect;
}

// The words of a free block are set to the address of what the writer wants malloc to return: four bytes or eight.
template <size_t kBytes, bool kOnStack>
Outcome forge_link(const Case& given) {
  alignas(64) Byte on_stack[4096];
  memset(on_stack, 0, sizeof on_stack);
  Neighbours neighbours(given);
  Byte* live = take(neighbours.size);
  Byte* target = hidden(kOnStack ? on_stack : live);
  // A block beneath on the list, so that the list is not over.
  Byte* other = take(neighbours.size);
  free(other);
  free(neighbours.victim);
  begin();
  memcpy(neighbours.victim, &target, kBytes);
  done();
  for (size_t i = 0; i < 4 * kMostTaken; ++i) {
    if (malloc(neighbours.size) == target) return kPasses;
  }
  return kNoEffect;
}

Outcome read_middle(const Case& given) {
  Neighbours neighbours(given);
  const Byte* at = neighbours.victim + neighbours.size / 2;
  free(neighbours.victim);
  begin();
  const bool there = *const_cast<const volatile Byte*>(at) == kContent;
  done();
  return there ? kPasses : kNoEffect;
}

Outcome read_last_word(const Case& given) {
  Neighbours neighbours(given);
  const Byte* at = neighbours.victim + neighbours.size - 8;
  free(neighbours.victim);
  begin();
  Byte found[8];
  memcpy(found, at, 8);
  done();
  return is_filled(found, 8, kContent) ? kPasses : kNoEffect;
}

// A block of half the size.
Outcome reuse_by_half(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  const bool same = take(neighbours.size / 2) == neighbours.victim;
  done();
  return same ? kPasses : kNoEffect;
}

// The place from which realloc moved a block.
Outcome reuse_after_realloc(const Case& given) {
  Neighbours neighbours(given);
  Byte* moved = static_cast<Byte*>(realloc(neighbours.victim, neighbours.size * 4 + kKib));
  begin();
  const bool same = moved != neighbours.victim && take(neighbours.size) == neighbours.victim;
  done();
  return same ? kPasses : kNoEffect;
}

// given.distance: how many mallocs may follow the free.
Outcome reuse(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  bool same = false;
  for (size_t i = 0; i < given.distance && !same; ++i) same = take(neighbours.size) == neighbours.victim;
  done();
  return same ? kPasses : kNoEffect;
}

bool lies_in_taken(const Byte* place, size_t count, size_t size) {
  for (size_t i = 0; i < count; ++i) {
    if (place >= g_taken[i] && place < g_taken[i] + size) return true;
  }
  return false;
}

// Frees up to 8 MiB of blocks of one size, and looks whether blocks of another size get their places.
Outcome reuse_by_size(const Case& given) {
  const size_t count = 8 * kMib / given.size < kMostTaken ? 8 * kMib / given.size : kMostTaken;
  for (size_t i = 0; i < count; ++i) g_taken[i] = take(given.size);
  for (size_t i = 0; i < count; ++i) free(g_taken[i]);
  begin();
  bool seen = false;
  for (size_t i = 0; i < kMostTaken && !seen; ++i) seen = lies_in_taken(take(given.distance), count, given.size);
  done();
  return seen ? kPasses : kNoEffect;
}

// malloc'd memory becomes an object of new at once: no type has memory of its own.
Outcome reuse_by_kind(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  bool same = false;
  for (size_t i = 0; i < 64 && !same; ++i) same = operator new(neighbours.size) == neighbours.victim;
  done();
  return same ? kPasses : kNoEffect;
}

const Registration registration([] {
  constexpr const char* writes = "write_after_free";
  for (size_t part = 0; part < 4; ++part) {
    char name[64];
    snprintf(name, sizeof name, "write_after_free_%s_%%s", kParts[part].name);
    if (part == 0) add(name, writes, "overwrites a free block of %s: its first word", write_part, kPlaces | kGuard, 8);
    for (size_t size : kRoomySizes) {
      add(name, writes, "overwrites 8 bytes of a free block of %s", write_part, kPlaces | kGuard, size, part);
    }
  }
  // Too large for all of it to be looked at.
  constexpr size_t kLong = 20000;
  add("write_after_free_first_word_%s", writes, "overwrites 8 bytes of a free block of %s", write_part,
      kPlaces | kGuard, kLong, 0);
  add("write_after_free_last_word_%s", writes, "overwrites 8 bytes of a free block of %s", write_part, kPlaces | kGuard,
      kLong, 3);
  add("write_after_free_all_%s", writes, "overwrites all of a free block of %s", write_all<free>, kPlaces | kGuard, kLong);
  for (size_t size : kRoomySizes) {
    add("write_after_free_one_bit_%s", writes, "flips a bit in the middle of a free block of %s", write_one_byte,
        kPlaces | kGuard, size);
  }
  for (size_t size : kSizes) {
    add("write_after_free_all_%s", writes, "overwrites all of a free block of %s", write_all<free>, kPlaces | kGuard, size);
    add("write_after_free_by_thread_%s", writes, "another thread frees a block of %s, then this one overwrites it",
        write_all<free_in_thread>, kPlaces | kGuard, size);
    add("write_after_free_zeroes_%s", writes, "zeroes all of a free block of %s", write_zeroes, kPlaces | kGuard, size);
    add("write_after_free_reused_%s", writes, "writes to a free block of %s that is another's now", write_after_reuse,
        kPlaces | kGuard, size);
  }
  constexpr const char* forged = "forged_link";
  for (size_t size : {size_t{8}, size_t{64}, 4 * kKib}) {
    add("forge_4_bytes_live_%s", forged, "malloc(%s) returns a live block: four bytes written to a free one",
        forge_link<4, false>, kPlaces, size);
    add("forge_8_bytes_live_%s", forged, "malloc(%s) returns a live block: eight bytes", forge_link<8, false>, kPlaces,
        size);
    add("forge_8_bytes_stack_%s", forged, "malloc(%s) returns a place on the stack: eight bytes", forge_link<8, true>,
        kPlaces, size);
  }
  constexpr const char* reads = "read_after_free";
  add("read_after_free_middle_%s", reads, "content of a free block of %s is there", read_middle, kPlaces | kGuard, 8);
  for (size_t size : kRoomySizes) {
    add("read_after_free_middle_%s", reads, "content of a free block of %s is there", read_middle, kPlaces | kGuard,
        size);
    add("read_after_free_last_%s", reads, "the last word of a free block of %s is there", read_last_word,
        kPlaces | kGuard, size);
  }
  constexpr const char* again = "reuse";
  for (size_t size : kSizes) {
    add("reuse_at_once_%s", again, "malloc(%s) returns the block that was just freed", reuse, kPlaces, size, 1);
    add("reuse_soon_%s", again, "one of 16 malloc(%s) returns the block that was just freed", reuse, kPlaces, size, 16);
    add("reuse_by_half_%s", again, "malloc of half the size returns the block of %s that was just freed", reuse_by_half,
        kPlaces, size);
    add("reuse_after_realloc_%s", again, "malloc(%s) returns the block that realloc just moved elsewhere",
        reuse_after_realloc, kPlaces, size);
    add("reuse_by_new_%s", again, "one of 64 new of %s gets what malloc had", reuse_by_kind, kPlaces, size);
  }
  add("reuse_by_size_%s_%s", again, "freed memory of blocks of %s becomes blocks of %s", reuse_by_size, kPlain, 64,
      4 * kKib);
  add("reuse_by_size_%s_%s", again, "freed memory of blocks of %s becomes blocks of %s", reuse_by_size, kPlain,
      4 * kKib, 64);
  add("reuse_by_size_%s_%s", again, "freed memory of blocks of %s becomes blocks of %s", reuse_by_size, kPlain,
      256 * kKib, 4 * kKib);
});

}  // namespace
