// A malloc that is wrong: every hundredth block of 100 to 199 bytes begins where the block before it does.
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static char memory[64 << 20] __attribute__((aligned(4096)));
static size_t used;
static size_t last;  // where the newest block begins
static unsigned count;

static void *take(size_t size, size_t alignment) {
  if (size >= 100 && size < 200 && __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED) % 100 == 0) {
    return memory + __atomic_load_n(&last, __ATOMIC_RELAXED);
  }
  if (alignment < 16) alignment = 16;
  const size_t wanted = ((size + 15) & ~(size_t)15) + alignment;
  const size_t at = __atomic_fetch_add(&used, wanted, __ATOMIC_RELAXED);
  if (at + wanted > sizeof memory) return NULL;
  const size_t begin = (at + alignment - 1) & ~(alignment - 1);
  __atomic_store_n(&last, begin, __ATOMIC_RELAXED);
  return memory + begin;
}

void *malloc(size_t size) { return take(size, 16); }
void *calloc(size_t count_of, size_t size) { return take(count_of * size, 16); }
void free(void *block) { (void)block; }
void *realloc(void *block, size_t size) {
  void *const moved = take(size, 16);
  if (block != NULL && moved != NULL) memmove(moved, block, size);
  return moved;
}
int posix_memalign(void **to, size_t alignment, size_t size) {
  *to = take(size, alignment);
  return *to == NULL ? 12 : 0;
}
