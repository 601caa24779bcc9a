// The loops whose instructions run.py counts. usage: hotpaths CASE ROUNDS
//
// Built as an ordinary dynamically linked program, so that malloc and free go through the PLT as a
// user's calls do. Everything a case needs besides the allocator is prepared once, before its first
// round: the difference between two run lengths is then nothing but rounds.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The C++ operators, by the names that a compiler gives them.
void *new_object(size_t) __asm__("_Znwm");
void *new_array(size_t) __asm__("_Znam");
void *new_nothrow(size_t, const void *) __asm__("_ZnwmRKSt9nothrow_t");
void *new_aligned(size_t, size_t) __asm__("_ZnwmSt11align_val_t");
void *new_aligned_array(size_t, size_t) __asm__("_ZnamSt11align_val_t");
void delete_object(void *) __asm__("_ZdlPv");
void delete_array(void *) __asm__("_ZdaPv");
void delete_sized(void *, size_t) __asm__("_ZdlPvm");
void delete_sized_aligned(void *, size_t, size_t) __asm__("_ZdlPvmSt11align_val_t");
void delete_aligned_array(void *, size_t) __asm__("_ZdaPvSt11align_val_t");

enum { kBatch = 1000, kSlots = 10000, kShuffled = 4096 };

static void *volatile sink;
static void *blocks[kSlots];
static uint16_t order[kShuffled];

static uint32_t next_random(uint32_t *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

// The store to sink stands for the one thing every caller does with a block: keep the pointer.
static void pair_48(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *p = malloc(48);
    sink = p;
    free(p);
  }
}

static void pair(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    void *p = malloc(size);
    sink = p;
    free(p);
  }
}

static void batch(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    for (int k = 0; k < kBatch; k++) blocks[k] = malloc(size);
    for (int k = 0; k < kBatch; k++) free(blocks[k]);
  }
}

static void batch_lifo(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    for (int k = 0; k < kBatch; k++) blocks[k] = malloc(size);
    for (int k = kBatch; k-- > 0;) free(blocks[k]);
  }
}

static void batch_shuffled(long rounds, size_t size) {
  uint32_t state = 42;
  for (int k = 0; k < kShuffled; k++) order[k] = (uint16_t)k;
  for (int k = kShuffled - 1; k > 0; k--) {
    int other = (int)(next_random(&state) % (uint32_t)(k + 1));
    uint16_t kept = order[k];
    order[k] = order[other];
    order[other] = kept;
  }
  for (long i = 0; i < rounds; i++) {
    for (int k = 0; k < kShuffled; k++) blocks[k] = malloc(size);
    for (int k = 0; k < kShuffled; k++) free(blocks[order[k]]);
  }
}

static void replace(long rounds, uint32_t smallest, uint32_t largest) {
  uint32_t state = 7;
  uint32_t span = largest - smallest + 1;
  for (int k = 0; k < kSlots; k++) blocks[k] = malloc(smallest + next_random(&state) % span);
  for (long i = 0; i < rounds; i++) {
    uint32_t slot = next_random(&state) % kSlots;
    free(blocks[slot]);
    blocks[slot] = malloc(smallest + next_random(&state) % span);
  }
}

static void calloc_pair(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    void *p = calloc(1, size);
    sink = p;
    free(p);
  }
}

// A vector's life: from 16 bytes, doubled until 4096, then freed. Nothing is written, so that copying
// is the allocator's own.
static void realloc_growth(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *p = NULL;
    for (size_t size = 16; size <= 4096; size *= 2) p = realloc(p, size);
    sink = p;
    free(p);
  }
}

// Up and down by a few bytes, inside one size class of most allocators: nothing has to move.
static void realloc_in_place(long rounds) {
  void *p = malloc(100);
  for (long i = 0; i < rounds; i++) {
    p = realloc(p, 104);
    p = realloc(p, 100);
  }
  free(p);
}

static void operator_pair(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *p = new_object(48);
    sink = p;
    delete_object(p);
  }
}

static void operator_sized(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    void *p = new_nothrow(size, order);
    sink = p;
    delete_sized(p, size);
  }
}

static void operator_array(long rounds, size_t size) {
  for (long i = 0; i < rounds; i++) {
    void *p = new_array(size);
    sink = p;
    delete_array(p);
  }
}

static void operator_aligned(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *p = new_aligned(128, 64);
    sink = p;
    delete_sized_aligned(p, 128, 64);
  }
}

static void operator_aligned_array(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *p = new_aligned_array(128, 64);
    sink = p;
    delete_aligned_array(p, 64);
  }
}

static void mix(long rounds) {
  for (long i = 0; i < rounds; i++) {
    void *zeroed = calloc(4, 24);
    void *grown = malloc(40);
    grown = realloc(grown, 200);
    void *cleared = calloc(1, 500);
    free(zeroed);
    grown = realloc(grown, 60);
    sink = grown;
    free(cleared);
    free(grown);
  }
}

static int run(const char *name, long rounds) {
  if (!strcmp(name, "pair_48")) pair_48(rounds);
  else if (!strcmp(name, "pair_1000")) pair(rounds, 1000);
  else if (!strcmp(name, "pair_4096")) pair(rounds, 4096);
  else if (!strcmp(name, "pair_20000")) pair(rounds, 20000);
  else if (!strcmp(name, "batch_48")) batch(rounds, 48);
  else if (!strcmp(name, "batch_1000")) batch(rounds, 1000);
  else if (!strcmp(name, "batch_4096")) batch(rounds, 4096);
  else if (!strcmp(name, "batch_lifo_48")) batch_lifo(rounds, 48);
  else if (!strcmp(name, "batch_shuffled_48")) batch_shuffled(rounds, 48);
  else if (!strcmp(name, "replace_16_512")) replace(rounds, 16, 512);
  else if (!strcmp(name, "replace_1k_16k")) replace(rounds, 1024, 16384);
  else if (!strcmp(name, "calloc_64")) calloc_pair(rounds, 64);
  else if (!strcmp(name, "calloc_1000")) calloc_pair(rounds, 1000);
  else if (!strcmp(name, "realloc_growth")) realloc_growth(rounds);
  else if (!strcmp(name, "realloc_in_place")) realloc_in_place(rounds);
  else if (!strcmp(name, "operator_pair")) operator_pair(rounds);
  else if (!strcmp(name, "operator_sized")) operator_sized(rounds, 48);
  else if (!strcmp(name, "operator_array")) operator_array(rounds, 48);
  else if (!strcmp(name, "operator_array_100k")) operator_array(rounds, 100000);
  else if (!strcmp(name, "operator_aligned")) operator_aligned(rounds);
  else if (!strcmp(name, "operator_aligned_array")) operator_aligned_array(rounds);
  else if (!strcmp(name, "mix")) mix(rounds);
  else return 0;
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3 || !run(argv[1], atol(argv[2]))) {
    fprintf(stderr, "usage: hotpaths CASE ROUNDS\n");
    return 2;
  }
  return 0;
}
