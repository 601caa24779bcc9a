// The list of kinds, what they share, and main: kinds --list, or kinds NAME PLACE.
#include "kinds.h"

#include <pthread.h>

namespace {

struct Kind {
  char name[64], about[120];
  const char* group;
  Body body;
  int flags;
  size_t size, distance;
};

constexpr size_t kMostKinds = 400, kMostBlocks = 1 << 20;
// Not initialized: registrations of other sources may run before this source's.
Kind g_kinds[kMostKinds];
size_t g_count;
// Blocks that were freed are null.
Byte* g_blocks[kMostBlocks];

struct Amount {
  char text[24];
  explicit Amount(size_t bytes) {
    const bool mib = bytes >= kMib && bytes % kMib == 0, kib = bytes >= kKib && bytes % kKib == 0;
    snprintf(text, sizeof text, "%zu%s", mib ? bytes / kMib : kib ? bytes / kKib : bytes, mib ? "m" : kib ? "k" : "");
  }
};

void* free_block(void* block) {
  free(block);
  return nullptr;
}

void say(const char* text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) _exit(2);
}

[[noreturn]] void fail(const char* what) {
  say(what);
  _exit(2);
}

void list() {
  for (size_t i = 0; i < g_count; ++i) {
    const Kind& kind = g_kinds[i];
    printf("%s\t%s\t%s\t%s\t%s\n", kind.name, kind.group, (kind.flags & kPlaces) != 0 ? "middle first last holes" : "-",
           (kind.flags & kGuard) != 0 ? "guard" : "-", kind.about);
  }
}

}  // namespace

void add(const char* name, const char* group, const char* about, Body body, int flags, size_t size, size_t distance) {
  if (g_count == kMostKinds) fail("too many kinds: raise kMostKinds\n");
  Kind& kind = g_kinds[g_count++];
  snprintf(kind.name, sizeof kind.name, name, Amount(size).text, Amount(distance).text);
  snprintf(kind.about, sizeof kind.about, about, Amount(size).text, Amount(distance).text);
  kind.group = group;
  kind.body = body;
  kind.flags = flags;
  kind.size = size;
  kind.distance = distance;
}

void begin() { say("begin\n"); }
void done() { say("done\n"); }

void fill(void* block, size_t size, Byte value) {
  Byte* bytes = static_cast<Byte*>(block);
  if (size <= 4 * kKib) {
    memset(bytes, value, size);
    return;
  }
  memset(bytes, value, 64);
  memset(bytes + size / 2, value, 64);
  memset(bytes + size - 64, value, 64);
}

bool is_filled(const void* block, size_t size, Byte value) {
  const Byte* bytes = static_cast<const Byte*>(block);
  for (size_t i = 0; i < size; i = size > 4 * kKib && i == 63 ? size / 2 : i == size / 2 + 63 ? size - 64 : i + 1) {
    if (bytes[i] != value) return false;
  }
  return true;
}

void free_in_thread(void* block) {
  pthread_t thread;
  if (pthread_create(&thread, nullptr, free_block, block) != 0 || pthread_join(thread, nullptr) != 0) _exit(2);
}

Byte* take(size_t size) {
  void* block = malloc(size);
  if (block == nullptr) fail("no memory\n");
  fill(block, size, kContent);
  return static_cast<Byte*>(hidden(block));
}

Neighbours::Neighbours(const Case& given, size_t least_bytes) {
  void* probe = malloc(given.size);
  size = malloc_usable_size(probe);
  free(probe);
  count_ = least_bytes / size;
  if (count_ < 12) count_ = 12;
  if (count_ > kMostBlocks) fail("too many blocks\n");
  size_t lowest = 0, highest = 0;
  for (size_t i = 0; i < count_; ++i) {
    g_blocks[i] = take(size);
    if (g_blocks[i] < g_blocks[lowest]) lowest = i;
    if (g_blocks[i] > g_blocks[highest]) highest = i;
  }
  const bool holes = strcmp(given.place, "holes") == 0;
  const size_t chosen = strcmp(given.place, "first") == 0  ? lowest
                        : strcmp(given.place, "last") == 0 ? highest
                                                           : count_ / 3;
  victim = g_blocks[chosen];
  g_blocks[chosen] = nullptr;
  for (size_t i = (chosen + 1) % 2; holes && i < count_; i += 2) {
    free(g_blocks[i]);
    g_blocks[i] = nullptr;
  }
}

void Neighbours::release() {
  static Byte* later[kMostBlocks];
  if (!victim_is_free) free(victim);
  for (size_t i = 0; i < count_; i += 2) free(g_blocks[i]);
  for (size_t i = 0; i < count_; ++i) {
    later[i] = take(size);
    memcpy(later[i], &i, sizeof i);
  }
  for (size_t i = 0; i < count_; ++i) {
    if (memcmp(later[i], &i, sizeof i) != 0) _exit(kPasses);
  }
  const size_t turns = size < 512 ? 65536 : 32 * kMib / size;
  for (size_t i = 0; i < turns; ++i) {
    free(later[i % count_]);
    later[i % count_] = static_cast<Byte*>(malloc(size));
    memset(later[i % count_], kContent, 8);
  }
  for (size_t i = 1; i < count_; i += 2) free(g_blocks[i]);
  for (size_t i = 0; i < count_; ++i) free(later[i]);
  malloc_trim(0);
}

Outcome passes_after_release(Neighbours& neighbours) {
  neighbours.victim_is_free = true;
  neighbours.release();
  return kPasses;
}

int main(int argc, char** argv) {
  if (argc == 2 && strcmp(argv[1], "--list") == 0) {
    list();
    return 0;
  }
  if (argc != 3) fail("usage: kinds --list, or kinds NAME PLACE\n");
  alarm(20);
  for (size_t i = 0; i < g_count; ++i) {
    const Kind& kind = g_kinds[i];
    if (strcmp(kind.name, argv[1]) != 0) continue;
    const Case given{kind.name, kind.size, kind.distance, argv[2]};
    _exit(kind.body(given));
  }
  fail("no such kind\n");
}
