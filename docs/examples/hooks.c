/* An arena whose memory comes from functions of the program's. See docs/sources.md. */
#include <acre/acre.h>
#include <acre/extent_hooks.h>
#include <acre/jemalloc.h>
#include <stdio.h>
#include <sys/mman.h>

/* Memory that is reserved once; each chunk is the next part of it. */
enum { kPool = 64 << 20, kChunk = 2 << 20 };
static char *pool;
static size_t given;

static void *alloc(extent_hooks_t *hooks, void *at, size_t size, size_t alignment, _Bool *zero, _Bool *commit,
                   unsigned arena) {
  (void)hooks;
  printf("arena %u asks for %zu MiB\n", arena, size >> 20);
  if (at != NULL || alignment > kChunk || given + size > kPool) return NULL;
  given += size;
  *zero = *commit = 1;
  return pool + given - size;
}

static _Bool dalloc(extent_hooks_t *hooks, void *memory, size_t size, _Bool committed, unsigned arena) {
  (void)hooks, (void)memory, (void)committed;
  printf("arena %u gives %zu MiB back\n", arena, size >> 20);
  return 0;
}

int main(void) {
  char *room = mmap(NULL, kPool + kChunk, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) return 1;
  pool = room + (kChunk - (size_t)room % kChunk);
  extent_hooks_t hooks = {.alloc = alloc, .dalloc = dalloc}, *with = &hooks;
  unsigned arena;
  size_t size = sizeof arena;
  if (acre_mallctl("arenas.create", &arena, &size, &with, sizeof with) != 0) return 1;
  void *block = acre_mallocx(1 << 20, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
  printf("a block of %zu bytes\n", block == NULL ? 0 : acre_malloc_usable_size(block));
  char name[40];
  snprintf(name, sizeof name, "arena.%u.destroy", arena);
  return acre_mallctl(name, NULL, NULL, NULL, 0);
}
