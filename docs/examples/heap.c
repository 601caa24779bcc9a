/* A heap that keeps to a limit, is asked to make room before it, and goes with everything in it. See docs/sources.md. */
#include <acre/acre.h>
#include <acre/heap.h>
#include <stdio.h>

enum { kBlocks = 10000 };
static void *cache[kBlocks];
static int cached;

static void drop_half(acre_heap_t *heap, size_t bytes, void *argument) {
  (void)heap, (void)argument;
  printf("%zu KiB are in use: half of the cache goes\n", bytes >> 10);
  for (int i = cached / 2; i < cached; i++) acre_free(cache[i]);
  cached /= 2;
}

int main(void) {
  struct acre_heap_settings settings = {.name = "cache", .limit = 8 << 20, .soft_limit = 4 << 20};
  settings.on_soft_limit = drop_half;
  acre_heap_t *heap = acre_heap_create(&settings);
  while (cached < kBlocks - 1 && acre_heap_bytes(heap) < 4 << 20) cache[cached++] = acre_heap_malloc(heap, 1000);
  cache[cached++] = acre_heap_malloc(heap, 100000);
  printf("%d blocks are left, 16 MiB are %s\n", cached, acre_heap_malloc(heap, 16 << 20) ? "to be had" : "refused");
  acre_heap_reset(heap);
  printf("%zu bytes in use after a reset\n", acre_heap_bytes(heap));
  acre_heap_destroy(heap);
  return 0;
}
