// Threads that free each other's blocks, and children that are forked in the midst of that. Each child frees all blocks
// that live, and has threads of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

static std::mutex lock;
static std::deque<void*> blocks;
static std::atomic<bool> stop;

static void work(unsigned random) {
  while (!stop) {
    random = random * 1664525 + 1013904223;
    void* block = nullptr;
    if ((random >> 8) % 2 != 0) {
      const std::lock_guard guard(lock);
      if (!blocks.empty()) {
        block = blocks.front();
        blocks.pop_front();
      }
    }
    if (block != nullptr) {
      free(block);
      continue;
    }
    block = malloc((random >> 10) % 500);
    const std::lock_guard guard(lock);
    blocks.push_back(block);
  }
}

static void be_child() {
  for (void* block : blocks) free(block);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([] {
      for (int n = 0; n < 3000; ++n) free(malloc(static_cast<size_t>(n) % 300));
    });
  }
  for (std::thread& thread : threads) thread.join();
  _exit(0);
}

int main() {
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < 3; ++i) threads.emplace_back(work, i * 77 + 1);
  for (int i = 0; i < 20; ++i) {
    lock.lock();
    const pid_t child = fork();
    lock.unlock();
    if (child == 0) be_child();
    usleep(3000);
    waitpid(child, nullptr, 0);
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
}
