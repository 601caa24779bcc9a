// The suite of misuse: each kind is one thing that a program does wrong with memory, seen by the program itself.
//
// A kind prepares what it needs, calls begin(), misuses memory, calls done(), gives the allocator the occasions to find
// out that a program gives (blocks are freed, others allocated), and returns what the misuse achieved. Compiled with
// -O0 -fno-builtin: the compiler neither sees nor removes what is wrong.
#ifndef ACRE_TESTS_STRICTNESS_KINDS_H
#define ACRE_TESTS_STRICTNESS_KINDS_H

#include <errno.h>
#include <malloc.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <initializer_list>
#include <new>

enum Outcome {
  kPasses = 10,   // the misuse did what an attacker or an accident wants
  kNoEffect = 11, // the misuse was refused, or found nothing
  kAbsent = 77,   // the allocator, or this C library, has no function of this name
};

struct Case {
  const char* name;
  size_t size;       // of the blocks
  size_t distance;   // from the block, in bytes; also a size or an alignment, for some kinds
  const char* place; // which block of its neighbours
};

using Body = Outcome (*)(const Case& given);

enum Flags {
  kPlain = 0,
  kPlaces = 1, // tried at each of the places
  kGuard = 2,  // the program itself touches memory: SIGSEGV there is the allocator's guard
};

// name and about are formats for printf, with size and distance as text: 8, 4k, 256k, 1m.
void add(const char* name, const char* group, const char* about, Body body, int flags, size_t size = 0,
         size_t distance = 0);
inline constexpr size_t kKib = 1024, kMib = kKib * kKib;
inline constexpr size_t kSizes[] = {8, 4 * kKib, 256 * kKib};
// Where 8 bytes have no room for the misuse.
inline constexpr size_t kRoomySizes[] = {64, 4 * kKib, 256 * kKib};

struct Registration {
  explicit Registration(void (*function)()) { function(); }
};

void begin();
void done();

void free_in_thread(void* block);

// The compiler forgets what it knows of a pointer.
template <typename T>
T* hidden(T* pointer) {
  T* volatile copy = pointer;
  return copy;
}

using Byte = unsigned char;
inline constexpr Byte kContent = 0x61, kDamage = 0x42;

// A block that may be read and written.
Byte* take(size_t size);
// All of a small block, both ends and the middle of others.
void fill(void* block, size_t size, Byte value);
bool is_filled(const void* block, size_t size, Byte value);

// A victim among blocks of the same size, so that nothing is found because a block lies at the edge of a mapping.
//   middle  a third of the blocks before it, in the order of allocation: not the first of a power of two
//   first   the lowest
//   last    the highest
//   holes   the middle one, after each second block but it was freed
struct Neighbours {
  explicit Neighbours(const Case& given, size_t least_bytes = 64 * kKib);

  // The size with which such a block is full: an overflow of it is one of every block of its class.
  size_t size;
  Byte* victim;
  // The victim is freed already: release leaves it out.
  bool victim_is_free = false;

  // What a program does for a while: frees the victim and each second neighbour, allocates as many, frees and allocates
  // up to 65536 times, frees all. So the place of the victim is handed out again, also by an allocator that keeps free
  // blocks until many others were freed. A place that malloc gives to two ends the process: the misuse passed.
  void release();

 private:
  size_t count_;
};

// For kinds that free the victim: what they did passed, if acre has not ended the program by the end of release.
Outcome passes_after_release(Neighbours& neighbours);

#endif
