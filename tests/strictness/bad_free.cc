// Pointers that no malloc returned, for free, realloc and malloc_usable_size: other memory, and places in blocks.
#include <alloca.h>
#include <sys/mman.h>

#include "kinds.h"

namespace {

using Use = void (*)(void* pointer);

void by_free(void* pointer) { free(hidden(pointer)); }
void by_delete(void* pointer) { operator delete(hidden(pointer)); }
void by_realloc(void* pointer) {
  void* moved = realloc(hidden(pointer), 100);
  if (moved != nullptr) fill(moved, 100, kContent);
}
// A wrong pointer that is told to have a size invites to write there.
void by_usable_size(void* pointer) {
  if (malloc_usable_size(hidden(pointer)) == 0) _exit(kNoEffect);
}

Outcome use(Use how, void* pointer) {
  begin();
  how(pointer);
  done();
  // What was put on a list is handed out.
  for (int i = 0; i < 100; ++i) take(64);
  return kPasses;
}

alignas(4096) Byte g_data[64 * kKib] = {1};
alignas(4096) Byte g_bss[64 * kKib];
alignas(64) thread_local Byte t_data[4096];
alignas(64) const char kText[4096] = "text";

template <Use how>
Outcome stack(const Case&) {
  alignas(64) Byte array[4096];
  memset(array, 0, sizeof array);
  return use(how, array + 64);
}

template <Use how>
Outcome on_alloca(const Case&) {
  Byte* array = static_cast<Byte*>(alloca(4096));
  memset(array, 0, 4096);
  return use(how, array + 64 - reinterpret_cast<uintptr_t>(array) % 64);
}

template <Use how>
Outcome data(const Case&) {
  return use(how, g_data + 4096);
}

template <Use how>
Outcome bss(const Case&) {
  return use(how, g_bss + 4096);
}

template <Use how>
Outcome mapped(const Case&) {
  Byte* memory = static_cast<Byte*>(mmap(nullptr, kMib, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED) _exit(2);
  return use(how, memory + 4096);
}

template <Use how>
Outcome of_thread(const Case&) {
  return use(how, t_data + 64);
}

template <Use how>
Outcome constant(const Case&) {
  return use(how, const_cast<char*>(kText + 64));
}

template <Use how>
Outcome code(const Case&) {
  return use(how, reinterpret_cast<void*>(&fill));
}

template <Use how>
Outcome environment(const Case&) {
  return use(how, environ[0]);
}

template <Use how>
Outcome program_break(const Case&) {
  return use(how, static_cast<Byte*>(sbrk(64 * kKib)) + 4096);
}

template <Use how, uintptr_t kNumber>
Outcome number(const Case&) {
  return use(how, reinterpret_cast<void*>(kNumber));
}

// Data with what glibc has before a block of 64 bytes and before the next one: two sizes, with the lowest bit set.
template <Use how>
Outcome with_sizes(const Case&) {
  uint64_t* words = reinterpret_cast<uint64_t*>(g_bss + 8192);
  words[1] = words[11] = 0x50 | 1;
  return use(how, words + 2);
}

// given.distance bytes into the block.
template <Use how>
Outcome inside(const Case& given) {
  Neighbours neighbours(given);
  begin();
  how(neighbours.victim + given.distance);
  done();
  return passes_after_release(neighbours);
}

template <Use how>
Outcome inside_middle(const Case& given) {
  Neighbours neighbours(given);
  begin();
  how(neighbours.victim + neighbours.size / 2);
  done();
  return passes_after_release(neighbours);
}

template <Use how>
Outcome before(const Case& given) {
  Neighbours neighbours(given);
  begin();
  how(neighbours.victim - given.distance);
  done();
  return passes_after_release(neighbours);
}

// Beyond all blocks: where nothing was handed out.
template <Use how>
Outcome far(const Case& given) {
  Case last = given;
  last.place = "last";
  Neighbours neighbours(last);
  begin();
  how(neighbours.victim + given.distance);
  done();
  return passes_after_release(neighbours);
}

template <Use how>
Outcome freed(const Case& given) {
  Neighbours neighbours(given);
  free(neighbours.victim);
  begin();
  how(neighbours.victim);
  done();
  return passes_after_release(neighbours);
}

// The name of a kind, for add: group_what.
const char* named(const char* group, const char* what) {
  static char name[64];
  snprintf(name, sizeof name, "%s_%s", group, what);
  return name;
}

// What is most often freed by mistake.
template <Use how>
void add_foreign(const char* group) {
  const auto add_one = [&](const char* what, const char* about, Body body) {
    add(named(group, what), group, about, body, kPlain);
  };
  add_one("stack", "an array on the stack", stack<how>);
  add_one("data", "initialized static data", data<how>);
  add_one("mmap", "a place in a mapping of the program's own", mapped<how>);
  add_one("wild", "an address where nothing is mapped", number<how, 0x200000000000>);
}

template <Use how>
void add_more_foreign(const char* group) {
  const auto add_one = [&](const char* what, const char* about, Body body) {
    add(named(group, what), group, about, body, kPlain);
  };
  add_one("alloca", "memory from alloca", on_alloca<how>);
  add_one("bss", "static data that are all zero", bss<how>);
  add_one("thread_local", "thread-local data", of_thread<how>);
  add_one("constant", "constant data", constant<how>);
  add_one("code", "a function", code<how>);
  add_one("sbrk", "memory from sbrk", program_break<how>);
  add_one("environment", "a string of the environment", environment<how>);
  add_one("small_number", "the number 16", number<how, 16>);
  add_one("kernel", "an address of the kernel", number<how, 0xffffffff80000000>);
  add_one("non_canonical", "a number that is no address", number<how, 0x4141414141414140>);
  add_one("fake_block", "static data that look like a block of glibc's", with_sizes<how>);
}

template <Use how>
void add_inside(const char* group) {
  for (size_t size : kRoomySizes) {
    add(named(group, "near_%2$s_%1$s"), group, "%2$s bytes into a block of %1$s", inside<how>, kPlaces, size, 8);
    add(named(group, "middle_%s"), group, "the middle of a block of %s", inside_middle<how>, kPlaces, size);
  }
}

template <Use how>
void add_more_inside(const char* group) {
  for (size_t distance : {1, 4}) {
    add(named(group, "near_%2$s_%1$s"), group, "%2$s bytes into a block of %1$s", inside<how>, kPlaces, 8, distance);
  }
  for (size_t size : kRoomySizes) {
    for (size_t distance : {1, 16}) {
      add(named(group, "near_%2$s_%1$s"), group, "%2$s bytes into a block of %1$s", inside<how>, kPlaces, size,
          distance);
    }
    for (size_t distance : {8, 16}) {
      add(named(group, "before_%2$s_%1$s"), group, "%2$s bytes before a block of %1$s", before<how>, kPlaces, size,
          distance);
    }
    for (size_t distance : {4 * kKib, kMib}) {
      add(named(group, "far_%2$s_%1$s"), group, "%2$s beyond the last block of %1$s", far<how>, kPlain, size, distance);
    }
  }
}

template <Use how>
void add_freed(const char* group) {
  for (size_t size : kSizes) {
    add(named(group, "freed_%s"), group, "a block of %s that was freed", freed<how>, kPlaces, size);
  }
}

const Registration registration([] {
  add_foreign<by_free>("bad_free");
  add_more_foreign<by_free>("bad_free");
  add_inside<by_free>("bad_free");
  add_more_inside<by_free>("bad_free");
  add_foreign<by_delete>("bad_delete");
  add_inside<by_delete>("bad_delete");
  add_foreign<by_realloc>("bad_realloc");
  add_inside<by_realloc>("bad_realloc");
  add_freed<by_realloc>("bad_realloc");
  add_foreign<by_usable_size>("bad_usable_size");
  add_inside<by_usable_size>("bad_usable_size");
  add_freed<by_usable_size>("bad_usable_size");
});

}  // namespace
