// Allocates objects of types with and without pointers, and says whether any page has had both: "apart" or "shared".
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <new>
#include <set>
#include <vector>

struct Node {
  Node* next;
  long number;
};
struct Pair {
  long first, second;
};
struct Table {
  void (*calls[40])();
};
struct Text {
  char bytes[320];
};
struct alignas(64) WideNode {
  WideNode* next;
};
struct alignas(64) WidePair {
  long first, second;
};

// All memory of the test itself lies in here: its containers' nodes have pointers, and are none of the blocks looked at.
static std::set<uintptr_t> g_pages[2];

template <class T>
static T* seen(T* block, bool has_pointers, size_t bytes = sizeof(T)) {
  if (block == nullptr) abort();
  const auto from = reinterpret_cast<uintptr_t>(block);
  for (uintptr_t page = from / 4096; page <= (from + bytes - 1) / 4096; ++page) g_pages[has_pointers].insert(page);
  return block;
}

template <class T>
static void allocate(bool has_pointers) {
  std::vector<T*> objects, blocks;
  for (int i = 0; i < 500; ++i) {
    objects.push_back(seen(new T, has_pointers));
    objects.push_back(seen(new (std::nothrow) T, has_pointers));
    T* block = static_cast<T*>(malloc(sizeof(T)));
    blocks.push_back(seen(block, has_pointers));
    block = static_cast<T*>(calloc(3, sizeof(T)));
    seen(block, has_pointers, 3 * sizeof(T));
    block = static_cast<T*>(realloc(block, 700 * sizeof(T)));
    seen(block, has_pointers, 700 * sizeof(T));
    free(block);
    T* array = seen(new T[9], has_pointers, 9 * sizeof(T));
    delete[] array;
  }
  for (T* object : objects) delete object;
  for (T* block : blocks) free(block);
}

int main() {
  for (int round = 0; round < 3; ++round) {
    allocate<Node>(true);
    allocate<Pair>(false);
    allocate<Table>(true);
    allocate<Text>(false);
    allocate<WideNode>(true);
    allocate<WidePair>(false);
  }
  bool shared = false;
  for (const uintptr_t page : g_pages[0]) shared |= g_pages[1].count(page) != 0;
  puts(shared ? "shared" : "apart");
}
