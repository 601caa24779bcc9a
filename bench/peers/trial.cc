// What an allocator must be able to do before it is measured: threads that end, blocks freed by another thread,
// every way to ask for a block, exceptions through a preloaded object. Prints "well".
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 3000;

struct First {
  virtual ~First() = default;
};
struct Second {
  virtual ~Second() = default;
  int value = 2;
};
struct Both : First, virtual Second {};

bool is_aligned(const void* block, std::size_t to) { return reinterpret_cast<std::uintptr_t>(block) % to == 0; }

bool every_way() {
  void* block = nullptr;
  bool well = posix_memalign(&block, 4096, 100) == 0 && is_aligned(block, 4096);
  std::free(block);
  block = std::aligned_alloc(64, 640);
  well = well && is_aligned(block, 64) && malloc_usable_size(block) >= 640;
  std::free(block);
  auto* zeroes = static_cast<unsigned char*>(std::calloc(1000, 3));
  for (int at = 0; at < 3000; ++at) well = well && zeroes[at] == 0;
  std::memset(zeroes, 7, 3000);
  zeroes = static_cast<unsigned char*>(std::realloc(zeroes, 1 << 20));
  for (int at = 0; at < 3000; ++at) well = well && zeroes[at] == 7;
  std::free(zeroes);
  auto* aligned = new (std::align_val_t(256)) char[100];
  well = well && is_aligned(aligned, 256);
  operator delete[](aligned, std::align_val_t(256));
  return well;
}

// Leaves its strings to the main thread.
void work(std::vector<std::string*>* kept, bool* well) {
  *well = every_way();
  for (int round = 0; round < kRounds; ++round) {
    std::ostringstream text;
    text << round << " is a number";
    kept->push_back(new std::string(text.str()));
    try {
      if (round % 100 == 0) throw std::runtime_error(text.str());
    } catch (const std::exception& error) {
      *well = *well && text.str() == error.what();
    }
  }
}

}  // namespace

int main() {
  std::vector<std::string*> kept[kThreads];
  bool well[kThreads] = {};
  std::vector<std::thread> threads;
  for (int at = 0; at < kThreads; ++at) threads.emplace_back(work, &kept[at], &well[at]);
  for (std::thread& thread : threads) thread.join();
  bool all_well = every_way();
  for (int at = 0; at < kThreads; ++at) {
    all_well = all_well && well[at] && kept[at].size() == kRounds;
    for (std::string* text : kept[at]) delete text;
  }
  First* first = new Both;
  const auto* second = dynamic_cast<Second*>(first);
  all_well = all_well && second != nullptr && second->value == 2;
  delete first;
  std::puts(all_well ? "well" : "not well");
  return all_well ? 0 : 1;
}
