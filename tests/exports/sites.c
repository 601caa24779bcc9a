/* Allocates known amounts at known places: sites [CHILD]. With CHILD a forked child allocates as well. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void mark(const char *text) {
  void (*write)(const char *) = (void (*)(const char *))dlsym(RTLD_DEFAULT, "acre_trace_mark");
  if (write) write(text);
}

static inline __attribute__((always_inline)) void *inlined(size_t size) { return malloc(size); }

__attribute__((noinline)) static void *keeps(size_t size) {
  void *block = inlined(size);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

__attribute__((noinline)) static void drops(void) {
  void *block = calloc(1, 200);
  __asm__ volatile("" : : "r"(block) : "memory");
  free(block);
}

__attribute__((noinline)) static void *moves(void *block) {
  block = realloc(block, 200000);
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

/* Between a block and its free lie three of the others. */
__attribute__((noinline)) static void fours(void) {
  void *blocks[4];
  for (int i = 0; i < 4; ++i) blocks[i] = malloc(300);
  __asm__ volatile("" : : "r"(blocks) : "memory");
  for (int i = 0; i < 4; ++i) free(blocks[i]);
}

static void *thread(void *block) {
  free(block);
  return 0;
}

int main(int count, char **words) {
  (void)words;
  void *first = 0;
  pthread_t other;
  for (int i = 0; i < 1000; ++i) first = keeps(3000);
  usleep(20000);
  mark("half \"time\"");
  usleep(20000);
  for (int i = 0; i < 500; ++i) drops();
  for (int i = 0; i < 5; ++i) fours();
  pthread_create(&other, 0, thread, first);
  pthread_join(other, 0);
  moves(keeps(1000));
  if (count > 1) {
    if (fork() == 0) {
      for (int i = 0; i < 100; ++i) keeps(7000);
      _exit(0);
    }
    wait(0);
  }
  return 0;
}
