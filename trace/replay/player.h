// Plays a schedule (format.h) on the malloc of the process. Nothing here allocates: tables are mappings.
#pragma once

#include <atomic>
#include <cstdint>

#include "replay/durations.h"
#include "replay/format.h"

namespace acre::trace::replay {

enum class Touch { kNone, kEnds, kAll };

struct Options {
  const char* path = nullptr;
  Touch touch = Touch::kAll;
  bool is_paced = false;
  bool has_latency = false;
};

struct Slot {
  char* block;
  uint64_t size;
};

struct Latency {
  Durations malloc, free;
};

// Each is written by its own thread alone, but for waiters.
struct alignas(64) Thread {
  std::atomic<uint32_t> done;     // words: up to the last one that is kPosted
  std::atomic<uint32_t> waiters;  // threads that sleep until done changes
  std::atomic<uint64_t> live_bytes;  // allocated less freed by it, modulo 2^64
  uint64_t operations;
  uint64_t sleeps;  // waits that took so long that it slept
  std::atomic<uint64_t> awaited;  // the kWait in which it sleeps; 0: none
  std::atomic<bool> has_begun, has_ended;
};

struct Point {  // a sample
  uint64_t time_ns, live_bytes, resident_bytes;
};

struct Player {
  Options options;
  int file;
  uint64_t file_bytes;
  Header header;
  const ThreadEntry* entries;
  const Sample* recorded;
  Thread* threads;
  Slot* slots;
  Point* points;
  Latency* latency;  // of all threads that have ended
  uint64_t begin_ns;
  std::atomic<uint64_t> own_bytes;       // resident, of tables and buffers
  std::atomic<uint64_t> most_own_bytes;
  std::atomic<uint32_t> running;         // threads besides the main thread
  std::atomic<uint32_t> latency_lock;
};

extern Player g_player;

// The main thread's part. Ends when all threads are done.
void play();

// One line, and the process ends with exit code 1.
[[noreturn]] void fail(const char* what);
[[noreturn]] void fail(const char* what, uint64_t number, const char* more = "");

uint64_t now_ns();
// Resident memory. Shared: of files and shared memory.
struct Resident {
  uint64_t all, shared;
};
Resident resident_now();
// Of it, pages of files that were written to, and of the stack: what cannot be malloc's.
uint64_t others_now();
uint64_t most_resident();  // since the last forget_most_resident()
void forget_most_resident();

void* map_memory(uint64_t bytes);  // zeroed and resident; counts as the player's own
void unmap_memory(void* memory, uint64_t bytes);
bool read_at(uint64_t offset, void* to, uint64_t bytes);  // of the schedule

// A second at most.
void futex_wait(std::atomic<uint32_t>& word, uint32_t value);
void futex_wake_all(std::atomic<uint32_t>& word);

}  // namespace acre::trace::replay
