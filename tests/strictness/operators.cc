// Blocks that go back by another function than the one that belongs to theirs, and deletes that tell a wrong size or
// alignment.
#include "kinds.h"

// Some C libraries and allocators lack these.
extern "C" {
__attribute__((weak)) void free_sized(void* block, size_t size);
__attribute__((weak)) void free_aligned_sized(void* block, size_t alignment, size_t size);
__attribute__((weak)) void sdallocx(void* block, size_t size, int flags);
}

namespace {

constexpr std::align_val_t k64{64}, k4096{4096};

struct Source {
  const char* name;
  void* (*get)(size_t size);
};

struct Sink {
  const char* name;
  void (*put)(void* block);
};

// In the order of kSinks: what has the same index belongs together.
const Source kSources[] = {
    {"malloc", [](size_t size) { return malloc(size); }},
    {"new", [](size_t size) { return operator new(size); }},
    {"new_array", [](size_t size) { return operator new[](size); }},
    {"new_aligned", [](size_t size) { return operator new(size, k64); }},
    {"new_array_aligned", [](size_t size) { return operator new[](size, k64); }},
};
const Sink kSinks[] = {
    {"free", [](void* block) { free(block); }},
    {"delete", [](void* block) { operator delete(block); }},
    {"delete_array", [](void* block) { operator delete[](block); }},
    {"delete_aligned", [](void* block) { operator delete(block, k64); }},
    {"delete_array_aligned", [](void* block) { operator delete[](block, k64); }},
};
constexpr size_t kPairs = 5;

// Blocks of 64 bytes, so that a block is as aligned as an aligned delete says. given: indices of source and sink.
Outcome mismatch(const Case& given) {
  Neighbours neighbours({given.name, 64, 0, given.place});
  void* block = hidden(kSources[given.size].get(64));
  memset(block, kContent, 64);
  begin();
  kSinks[given.distance].put(block);
  done();
  neighbours.release();
  return kPasses;
}

using GiveBack = void (*)(void* block, size_t told);

Outcome give_back(const Case& given, void* block, GiveBack function) {
  begin();
  function(block, given.distance);
  done();
  // The block is handed out for both sizes.
  for (size_t i = 0; i < 100; ++i) {
    take(given.size);
    take(given.distance);
  }
  return kPasses;
}

template <GiveBack kFunction>
Outcome of_malloc(const Case& given) {
  Neighbours neighbours(given);
  return give_back(given, neighbours.victim, kFunction);
}

template <GiveBack kFunction>
Outcome of_new(const Case& given) {
  Neighbours neighbours(given);
  return give_back(given, hidden(operator new(given.size)), kFunction);
}

template <GiveBack kFunction>
Outcome of_new_array(const Case& given) {
  Neighbours neighbours(given);
  return give_back(given, hidden(operator new[](given.size)), kFunction);
}

template <GiveBack kFunction>
Outcome of_aligned(const Case& given) {
  Neighbours neighbours(given);
  return give_back(given, hidden(aligned_alloc(64, given.size)), kFunction);
}

void absent() { _exit(kAbsent); }

void sized_delete(void* block, size_t told) { operator delete(block, told); }
void sized_delete_array(void* block, size_t told) { operator delete[](block, told); }
void sized_delete_aligned(void* block, size_t told) { operator delete(block, told, k64); }
void told_free_sized(void* block, size_t told) { free_sized != nullptr ? free_sized(block, told) : absent(); }
void told_free_aligned_sized(void* block, size_t told) {
  free_aligned_sized != nullptr ? free_aligned_sized(block, 64, told) : absent();
}
void told_sdallocx(void* block, size_t told) { sdallocx != nullptr ? sdallocx(block, told, 0) : absent(); }

// A block that is not at a multiple of 4096.
void* unaligned_block(size_t size) {
  void* block = take(size);
  while (reinterpret_cast<uintptr_t>(block) % 4096 == 0) block = take(size);
  return block;
}

void absurd_delete(void* block) { operator delete(block, k4096); }
void absurd_delete_array(void* block) { operator delete[](block, k4096); }
void absurd_sized_delete(void* block) { operator delete(block, 64, k4096); }
void absurd_free_aligned_sized(void* block) {
  free_aligned_sized != nullptr ? free_aligned_sized(block, 4096, 64) : absent();
}
void absurd_sdallocx(void* block) { sdallocx != nullptr ? sdallocx(block, 64, 12) : absent(); }
void odd_delete(void* block) { operator delete(block, std::align_val_t{48}); }

template <void (*kFunction)(void*)>
Outcome of_unaligned(const Case&) {
  void* block = hidden(unaligned_block(64));
  begin();
  kFunction(block);
  done();
  for (size_t i = 0; i < 100; ++i) take(64);
  return kPasses;
}

void add_told(size_t size, size_t told, const char* word) {
  constexpr const char* group = "wrong_size";
  const auto add_one = [&](const char* what, Body body) {
    char name[64], about[120];
    snprintf(name, sizeof name, "%s_%s_%%s", what, word);
    snprintf(about, sizeof about, "%s of a block of %%1$s that is told %%2$s", what);
    add(name, group, about, body, kPlaces, size, told);
  };
  add_one("sized_delete", of_new<sized_delete>);
  add_one("sized_delete_array", of_new_array<sized_delete_array>);
  add_one("free_sized", of_malloc<told_free_sized>);
  add_one("sdallocx", of_malloc<told_sdallocx>);
  if (size < 64) return;
  add_one("free_aligned_sized", of_aligned<told_free_aligned_sized>);
  add_one("sized_delete_aligned", of_aligned<sized_delete_aligned>);
}

const Registration registration([] {
  for (size_t from = 0; from < kPairs; ++from) {
    for (size_t to = 0; to < kPairs; ++to) {
      if (from == to) continue;
      char name[64], about[120];
      snprintf(name, sizeof name, "%s_then_%s", kSources[from].name, kSinks[to].name);
      snprintf(about, sizeof about, "a block from %s goes back by %s", kSources[from].name, kSinks[to].name);
      add(name, "mismatch", about, mismatch, kPlaces, from, to);
    }
  }
  add_told(8, 64, "larger");
  for (size_t size : kRoomySizes) {
    add_told(size, size * 2, "larger");
    add_told(size, size / 2, "smaller");
  }
  constexpr const char* group = "wrong_alignment";
  add("delete_alignment", group, "delete of a block that is not aligned as told", of_unaligned<absurd_delete>, kPlain);
  add("delete_array_alignment", group, "the same by delete[]", of_unaligned<absurd_delete_array>, kPlain);
  add("sized_delete_alignment", group, "the same by a sized delete", of_unaligned<absurd_sized_delete>, kPlain);
  add("free_aligned_sized_alignment", group, "the same by free_aligned_sized", of_unaligned<absurd_free_aligned_sized>,
      kPlain);
  add("sdallocx_alignment", group, "the same by sdallocx", of_unaligned<absurd_sdallocx>, kPlain);
  add("delete_alignment_48", group, "delete with an alignment that is no power of two", of_unaligned<odd_delete>,
      kPlain);
});

}  // namespace
