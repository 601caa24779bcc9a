// acre-test: libs=pthread conf=background_thread:true conf=hardened:true
// Threads that have blocks from chosen arenas, move to others, a manual one among them, turn their caches off and on, ask what they have
// allocated, and hand blocks to each other; and forks among them.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "acre/acre.h"
#include "acre/jemalloc.h"
#include "base/compiler.h"

namespace {

constexpr unsigned kThreads = 4;
constexpr unsigned kSteps = 20000;
std::array<std::atomic<unsigned char*>, 64> g_exchange;  // blocks on their way to whoever takes them
unsigned g_manual;                                       // an arena

void must(bool holds) {
  if (!holds) abort();
}

template <class T>
T get(const char* name) {
  T value{};
  size_t size = sizeof value;
  must(acre_mallctl(name, &value, &size, nullptr, 0) == 0);
  return value;
}
template <class T>
void set(const char* name, T value) {
  must(acre_mallctl(name, nullptr, nullptr, &value, sizeof value) == 0);
}

void free_checked(unsigned char* block) {
  if (block == nullptr) return;
  must(block[0] == block[acre_sallocx(block, 0) - 1]);
  acre_dallocx(block, 0);
}

void live(unsigned seed) {
  const unsigned arenas = get<unsigned>("arenas.narenas");
  uint64_t last = 0;
  for (unsigned i = 0; i < kSteps; ++i) {
    seed = seed * 1103515245 + 12345;
    const unsigned choice = seed >> 16;
    const size_t size = choice % 97 == 0 ? 50000 + choice : choice % 3000 + 1;
    const int flags = choice % 2 == 0 ? MALLOCX_ARENA(choice % arenas % 5) : MALLOCX_ALIGN(64);
    auto* block = static_cast<unsigned char*>(acre_mallocx(size, flags | MALLOCX_ZERO));
    must(block != nullptr && block[0] == 0 && block[acre_sallocx(block, 0) - 1] == 0);
    memset(block, static_cast<int>(choice), acre_sallocx(block, 0));
    free_checked(g_exchange[choice % g_exchange.size()].exchange(block));
    if (i % 500 == 0) set("thread.arena", choice % 3 == 0 ? g_manual : choice % arenas % 5);
    if (i % 700 == 0) set("thread.tcache.enabled", i % 1400 == 0);
    if (i % 50 == 0) {
      const auto allocated = get<uint64_t>("thread.allocated");
      must(allocated >= last);
      last = allocated;
      get<uint64_t>("thread.peak.read");
    }
  }
}

void fork_once() {
  const pid_t child = fork();
  must(child >= 0);
  if (child == 0) {
    // ThreadSanitizer knows no threads that begin in the child of several.
    if (ACRE_TSAN) set("background_thread", false);
    for (int i = 0; i < 100; ++i) acre_dallocx(acre_mallocx(100, i % 2 == 0 ? MALLOCX_ARENA(0) : 0), 0);
    set("thread.tcache.enabled", false);
    acre_free(acre_malloc(100));
    set("thread.tcache.enabled", true);
    acre_free(acre_malloc(100));
    _exit(0);
  }
  int status = 1;
  must(waitpid(child, &status, 0) == child && status == 0);
}

}  // namespace

int main() {
  acre_free(acre_malloc(1));
  g_manual = get<unsigned>("arenas.create");
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < kThreads; ++i) threads.emplace_back(live, i * 7919 + 1);
  for (int i = 0; i < 20; ++i) {
    if (i % 2 == 0) set("thread.tcache.enabled", i % 4 == 0);
    fork_once();
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& block : g_exchange) free_checked(block.load());
  const std::string destroy = "arena." + std::to_string(g_manual) + ".destroy";
  must(acre_mallctl(destroy.c_str(), nullptr, nullptr, nullptr, 0) == 0);
  return 0;
}
