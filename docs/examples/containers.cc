// Containers in a heap: by an STL allocator and by std::pmr. See docs/sources.md.
#include <acre/heap.hpp>
#include <cstdio>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
  acre::heap heap;
  std::vector<int, acre::heap_allocator<int>> numbers(heap);
  for (int i = 0; i < 1000000; i++) numbers.push_back(i);
  acre::heap_resource resource(heap);
  std::pmr::unordered_map<std::pmr::string, int> table(&resource);
  for (int i = 0; i < 1000; i++) table[std::pmr::string("a name of some length, number ") + std::to_string(i).c_str()] = i;
  std::printf("%zu numbers and %zu names in %zu KiB\n", numbers.size(), table.size(), heap.bytes() >> 10);
}
