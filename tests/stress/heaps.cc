// acre-test: libs=pthread conf=background_thread:true timeout=300
// Heaps and arenas that come and go in waves in several threads, while others walk over all of them (statistics, purges,
// decay), and forks among them: the child uses heaps as its parent did. And threads that destroy one arena at once, of
// which one alone may.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/heap.h"
#include "acre/jemalloc.h"
#include "base/compiler.h"
#include "stress.h"

namespace {

using stress::Random;

constexpr unsigned kMakers = 3;

void must(bool holds) {
  if (!holds) abort();
}

unsigned char* take(acre_heap_t* heap, Random& random) {
  const size_t size = random.one_in(50) ? 1 + random.below(300000) : 1 + random.below(3000);
  auto* block = static_cast<unsigned char*>(acre_heap_malloc(heap, size));
  must(block != nullptr && acre_heap_of(block) == heap);
  memset(block, static_cast<int>(size), size);
  return block;
}

void destroy_at_random(std::vector<acre_heap_t*>& heaps, Random& random) {
  std::swap(heaps[random.below(heaps.size())], heaps.back());
  acre_heap_destroy(heaps.back());
  heaps.pop_back();
}

// As many as come and go from few to many, and back.
void make_and_destroy(uint64_t seed, size_t waves) {
  Random random(seed);
  std::vector<acre_heap_t*> heaps;
  for (size_t wave = 0; wave < waves; ++wave) {
    const size_t most = 1 + random.below(wave % 4 == 0 ? 400 : 30);
    while (heaps.size() < most) {
      heaps.push_back(acre_heap_create(nullptr));
      must(heaps.back() != nullptr && acre_heap_bytes(heaps.back()) == 0);
      const size_t blocks = random.below(20);
      for (size_t i = 0; i < blocks; ++i) {
        unsigned char* block = take(heaps[random.below(heaps.size())], random);
        if (random.one_in(3)) acre_free(block);
      }
      if (random.one_in(10)) acre_heap_reset(heaps[random.below(heaps.size())]);
      if (random.one_in(4)) destroy_at_random(heaps, random);
    }
    const size_t left = random.below(most);
    while (heaps.size() > left) destroy_at_random(heaps, random);
  }
  while (!heaps.empty()) destroy_at_random(heaps, random);
}

// What goes over all arenas.
void walk(const std::atomic<bool>& stop) {
  for (unsigned i = 0; !stop; ++i) {
    uint64_t epoch = 1;
    size_t size = sizeof epoch, value = 0;
    must(acre_mallctl("epoch", &epoch, &size, &epoch, sizeof epoch) == 0);
    size = sizeof value;
    must(acre_mallctl("stats.mapped", &value, &size, nullptr, 0) == 0);
    if (i % 4 == 0) acre_malloc_trim(0);
    if (i % 4 == 1) acre_mallctl("arena.4096.decay", nullptr, nullptr, nullptr, 0);
    for (int k = 0; k < 100; ++k) acre_free(acre_malloc(40000));
  }
}

void fork_once(uint64_t seed) {
  const pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    if (ACRE_TSAN) _exit(0);
    make_and_destroy(seed, 3);
    _exit(0);
  }
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0);
}

// By number, as a heap that is destroyed twice ends the program: of all that try at once, one succeeds.
void destroy_at_once(size_t times) {
  constexpr unsigned kThreads = 3;
  std::atomic<unsigned> done{0};
  char name[40];
  unsigned number = 0;
  const auto make = [&] {
    size_t size = sizeof number;
    must(acre_mallctl("arenas.create", &number, &size, nullptr, 0) == 0);
    for (int i = 0; i < 5; ++i) must(acre_mallocx(100 << i, MALLOCX_ARENA(number)) != nullptr);
    snprintf(name, sizeof name, "arena.%u.%s", number, "destroy");
    done = 0;
  };
  make();
  std::barrier ready(kThreads, [&]() noexcept {});
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = 0; i < times; ++i) {
        ready.arrive_and_wait();
        done += acre_mallctl(name, nullptr, nullptr, nullptr, 0) == 0;
        ready.arrive_and_wait();
        if (t != 0) continue;
        must(done == 1);
        make();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

int main(int argc, char** argv) {
  const stress::Arguments arguments(argc, argv, ACRE_TSAN ? 80 : 200);
  destroy_at_once(arguments.operations * 10);
  std::atomic<bool> stop{false};
  std::vector<std::thread> makers, walkers;
  for (unsigned i = 0; i < kMakers; ++i) {
    makers.emplace_back(make_and_destroy, arguments.seed * 100 + i, arguments.operations);
  }
  walkers.emplace_back([&] { walk(stop); });
  for (size_t i = 0; i < arguments.operations / 8; ++i) fork_once(i);
  for (std::thread& maker : makers) maker.join();
  stop = true;
  for (std::thread& walker : walkers) walker.join();
  return 0;
}
