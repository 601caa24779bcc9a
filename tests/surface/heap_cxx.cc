// acre-test: not-preload
// Heaps in C++: owner, allocator, memory resource.
#include <acre/heap.hpp>

#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "check.h"

int main() {
    acre::heap heap;
    {
        std::vector<int, acre::heap_allocator<int>> numbers(heap);
        for (int i = 0; i < 100000; i++) numbers.push_back(i);
        CHECK(acre_heap_of(numbers.data()) == heap.handle());
        std::list<std::string, acre::heap_allocator<std::string>> texts(heap);
        for (int i = 0; i < 1000; i++) texts.emplace_back(std::to_string(i));
        CHECK(heap.bytes() >= 100000 * sizeof(int) + 1000 * sizeof(std::string));
        std::map<int, int, std::less<int>, acre::heap_allocator<std::pair<const int, int>>> map(heap);
        for (int i = 0; i < 1000; i++) map[i] = i;

        acre::heap second;
        std::vector<int, acre::heap_allocator<int>> moved(second);
        moved.assign({1, 2, 3});
        CHECK(moved.get_allocator() != numbers.get_allocator());
        moved = std::move(numbers);
        CHECK(acre_heap_of(moved.data()) == heap.handle());
        CHECK_EQ(moved.size(), 100000);
    }
    acre::heap_resource resource(heap);
    {
        std::pmr::unordered_map<std::pmr::string, std::pmr::vector<double>> table(&resource);
        for (int i = 0; i < 1000; i++) {
            table[std::pmr::string("a key that is too long for a small string " + std::to_string(i), &resource)].resize(
                static_cast<size_t>(i));
        }
        auto &some = table.begin()->first;
        CHECK(acre_heap_of(some.data()) == heap.handle());
    }
    void *aligned = resource.allocate(100, 256);
    CHECK((uintptr_t)aligned % 256 == 0);
    resource.deallocate(aligned, 100, 256);
    acre::heap_resource same(heap);
    CHECK(resource == same);
    CHECK(!(resource == *std::pmr::new_delete_resource()));
    heap.reset();
    CHECK_EQ(heap.bytes(), 0);

    acre_heap_settings settings = {};
    settings.limit = MIB;
    acre::heap limited(settings);
    bool thrown = false;
    try {
        std::vector<char, acre::heap_allocator<char>> much(2 * MIB, 'x', limited);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    acre::heap owner = std::move(limited);
    CHECK(limited.handle() == nullptr);
    owner = acre::heap();
    settings.file = "/no/such/folder";
    thrown = false;
    try {
        acre::heap none(settings);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown);
    return 0;
}
