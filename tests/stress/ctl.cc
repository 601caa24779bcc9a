// acre-test: libs=pthread conf=junk:true
// ctl in some threads, allocation in others: figures that fit each other, and no deadlock with fork.
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>
#include <vector>

#include "acre/acre.h"

namespace {

std::atomic<bool> g_stop{false};

size_t read_size(const char* name) {
  size_t value = 0, size = sizeof value;
  if (acre_mallctl(name, &value, &size, nullptr, 0) != 0) abort();
  return value;
}

void renew() {
  uint64_t one = 1;
  if (acre_mallctl("epoch", nullptr, nullptr, &one, sizeof one) != 0) abort();
}

void allocate(unsigned seed) {
  std::vector<void*> blocks(200);
  for (unsigned i = 0; !g_stop; ++i) {
    void*& block = blocks[(i * 7919u + seed) % blocks.size()];
    acre_free(block);
    block = acre_malloc(i % 64 == 0 ? 100000 : i % 2000);
  }
  for (void* block : blocks) acre_free(block);
}

void control() {
  for (int i = 0; i < 150; ++i) {
    renew();
    if (read_size("stats.allocated") == 0) abort();
    ssize_t decay = i % 3 * 1000;
    if (acre_mallctl("opt.dirty_decay_ms", nullptr, nullptr, &decay, sizeof decay) != 0) abort();
    if (acre_mallctl("opt.muzzy_decay_ms", nullptr, nullptr, &decay, sizeof decay) != 0) abort();
    ssize_t rate = i % 5 == 0 ? 1 << 20 : -1;
    if (acre_mallctl("opt.release_rate", nullptr, nullptr, &rate, sizeof rate) != 0) abort();
    if (acre_mallctl("arena.4096.purge", nullptr, nullptr, nullptr, 0) != 0) abort();
    if (acre_mallctl("thread.tcache.flush", nullptr, nullptr, nullptr, 0) != 0) abort();
    acre_free(acre_malloc(100));
  }
}

}  // namespace

int main() {
  void* lasting = acre_malloc(1000);  // so that there is always something to report
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 2; ++i) threads.emplace_back(allocate, i);
  std::vector<std::thread> controllers;
  for (int i = 0; i < 2; ++i) controllers.emplace_back(control);
  for (int i = 0; i < 20; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      renew();
      _exit(read_size("stats.allocated") == 0);
    }
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) abort();
  }
  for (std::thread& thread : controllers) thread.join();
  g_stop = true;
  for (std::thread& thread : threads) thread.join();
  acre_free(lasting);
  return 0;
}
