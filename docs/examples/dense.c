/* 400 MiB of small blocks, linked in random order, and the time of a step along the links. See docs/memory.md. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

enum { kBlocks = 3750000, kSteps = 5000000 };

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int main(void) {
  const double start = now();
  void ***blocks = mmap(NULL, kBlocks * sizeof *blocks, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (int i = 0; i < kBlocks; i++) *(blocks[i] = malloc(100)) = NULL;
  const double filled = now();
  for (unsigned i = kBlocks - 1, random = 1; i > 0; i--) {
    random = random * 1664525 + 1013904223;
    const unsigned j = (unsigned)((unsigned long)random * i >> 32);
    void **block = blocks[i];
    blocks[i] = blocks[j];
    blocks[j] = block;
  }
  for (int i = 0; i < kBlocks; i++) *blocks[i] = blocks[(i + 1) % kBlocks];
  const double linked = now();
  void **at = blocks[0];
  for (int i = 0; i < kSteps; i++) at = *at;
  const double done = now();
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  printf("%ld page faults, filled in %.2f s, %.0f ns a step%s\n", usage.ru_minflt, filled - start,
         (done - linked) / kSteps * 1e9, at == NULL ? "!" : "");
  return 0;
}
